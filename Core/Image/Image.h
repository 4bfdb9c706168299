#pragma once

#include "Core/Image/ImageGeometry.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera {

/// Scalar image in host memory, x fastest.
template <int D>
struct Image {
  ImageGeometry<D> geometry;
  std::vector<float> voxels;
};

template <int D>
using ImagePointer = std::shared_ptr<const Image<D>>;

/// Interleaved components in host memory: voxels[component + components * voxel].
template <int D>
struct VectorImage {
  ImageGeometry<D> geometry;
  int components = D;
  std::vector<float> voxels;
};

/// 1 inside, 0 outside; lies on a grid of its own and is asked by physical point.
template <int D>
struct Mask {
  ImageGeometry<D> geometry;
  std::vector<std::uint8_t> voxels;
  PointToIndex<D> pointToIndex = geometry.pointToIndex();

  Mask(const ImageGeometry<D>& g, std::vector<std::uint8_t> v) : geometry(g), voxels(std::move(v)) {}

  /// The nearest voxel decides (ITK rounds half up); outside the grid is outside the mask.
  bool contains(const Vec<D>& pointMm) const
  {
    const Vec<D> index = pointToIndex(pointMm);
    std::size_t offset = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      const double nearest = std::floor(index[d] + 0.5);
      if (!(nearest >= 0 && nearest < static_cast<double>(geometry.size[d])))
        return false;
      offset += stride * static_cast<std::size_t>(nearest);
      stride *= geometry.size[d];
    }
    return voxels[offset] != 0;
  }
};

template <int D>
using MaskPointer = std::shared_ptr<const Mask<D>>;

}
