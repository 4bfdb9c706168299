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

/// Whether the voxel whose middle is nearest to an index lies in a grid of this size (ITK rounds half up);
/// `voxel` is its number then, x fastest.
template <int D, class Extent>
TESSERA_HOST_DEVICE bool findNearestVoxel(const std::array<Extent, D>& size, const Vec<D>& index,
                                          std::size_t& voxel)
{
  voxel = 0;
  std::size_t stride = 1;
  for (int d = 0; d < D; ++d) {
    const double nearest = std::floor(index[d] + 0.5);
    if (!(nearest >= 0 && nearest < static_cast<double>(size[d])))
      return false;
    voxel += stride * static_cast<std::size_t>(nearest);
    stride *= static_cast<std::size_t>(size[d]);
  }
  return true;
}

/// 1 inside, 0 outside; lies on a grid of its own and is asked by physical point.
template <int D>
struct Mask {
  ImageGeometry<D> geometry;
  std::vector<std::uint8_t> voxels;
  PointToIndex<D> pointToIndex = geometry.pointToIndex();
  std::size_t firstVoxel =
      0; // not 0 where the host has some slices of it alone: no points in others may be asked then

  Mask(const ImageGeometry<D>& g, std::vector<std::uint8_t> v) : geometry(g), voxels(std::move(v)) {}

  /// The nearest voxel decides; outside the grid is outside the mask.
  bool contains(const Vec<D>& pointMm) const
  {
    std::size_t voxel;
    return findNearestVoxel<D>(geometry.size, pointToIndex(pointMm), voxel)
           && voxels[voxel - firstVoxel] != 0;
  }
};

template <int D>
using MaskPointer = std::shared_ptr<const Mask<D>>;

}
