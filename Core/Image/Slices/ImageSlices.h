#pragma once

#include "Core/Image/Image.h"

namespace tessera {

/// An image of which only slices [first, first + count) of the last axis are in memory. The voxels must
/// outlive this.
template <int D>
struct ImageSlices {
  ImageGeometry<D> geometry; // geometry of the whole image
  std::size_t first = 0, count = 0;
  const float* voxels = nullptr; // the voxels of these slices, x fastest

  /// The address that the first voxel of the whole image would have. Only voxels of the slices may be read.
  const float* wholeImage() const
  {
    return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(voxels)
                                          - first * (geometry.voxelCount() / geometry.size[D - 1])
                                                * sizeof(float));
  }
};

}
