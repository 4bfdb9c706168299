#pragma once

#include "Core/Image/Image.h"

namespace tessera {

/// Slices [first, first + count) of the last axis: what of an image is in memory. They must outlive this.
template <int D>
struct ImageSlices {
  ImageGeometry<D> geometry; // of the whole image
  std::size_t first = 0, count = 0;
  const float* voxels = nullptr; // of those slices, x fastest

  /// Where the whole image would begin; nothing but those slices may be read.
  const float* wholeImage() const
  {
    return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(voxels)
                                          - first * (geometry.voxelCount() / geometry.size[D - 1])
                                                * sizeof(float));
  }
};

}
