#pragma once

#include "Core/Image/Image.h"

namespace tessera {

/// Layers [first, first + count) of the last axis: what of an image is in memory. They must outlive this.
template <int D>
struct ImageLayers {
  ImageGeometry<D> geometry; // of the whole image
  std::size_t first = 0, count = 0;
  const float* voxels = nullptr; // of those layers, x fastest

  /// Where the whole image would begin; nothing but those layers may be read.
  const float* wholeImage() const
  {
    return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(voxels)
                                          - first * (geometry.voxelCount() / geometry.size[D - 1]) * sizeof(float));
  }
};

/// The same of a mask.
template <int D>
class MaskLayers {
public:
  explicit MaskLayers(const ImageGeometry<D>& whole) : geometry_(whole), pointToIndex_(whole.pointToIndex()) {}

  /// `voxels`, of the layers from `firstLayer` on, must outlive this, or the next call.
  void set(std::size_t firstLayer, const std::uint8_t* voxels)
  {
    voxelsBefore_ = firstLayer * (geometry_.voxelCount() / geometry_.size[D - 1]);
    voxels_ = voxels;
  }

  /// As Mask::contains; of points outside of the grid, or in those layers.
  bool contains(const Vec<D>& pointMm) const
  {
    const Vec<D> index = pointToIndex_(pointMm);
    std::size_t offset = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      const double nearest = std::floor(index[d] + 0.5);
      if (!(nearest >= 0 && nearest < static_cast<double>(geometry_.size[d])))
        return false;
      offset += stride * static_cast<std::size_t>(nearest);
      stride *= geometry_.size[d];
    }
    return voxels_[offset - voxelsBefore_] != 0;
  }

private:
  ImageGeometry<D> geometry_;
  PointToIndex<D> pointToIndex_;
  std::size_t voxelsBefore_ = 0;
  const std::uint8_t* voxels_ = nullptr;
};

}
