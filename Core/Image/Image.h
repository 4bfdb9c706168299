#pragma once

#include "Core/Image/ImageGeometry.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera {

/// A scalar image in host memory, x fastest.
template <int D>
struct Image {
  ImageGeometry<D> geometry;
  std::vector<float> voxels;
};

template <int D>
using ImagePointer = std::shared_ptr<const Image<D>>;

/// An image of vectors in host memory: voxels[component + components * voxel].
template <int D>
struct VectorImage {
  ImageGeometry<D> geometry;
  int components = D;
  std::vector<float> voxels;
};

/// Finds the voxel nearest to a continuous index (half up, as in ITK) and its number in memory, x fastest.
/// False if it lies outside the grid.
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

/// A mask: voxels other than 0 are inside. It has its own grid and is evaluated at points.
template <int D>
struct Mask {
  ImageGeometry<D> geometry;
  std::vector<std::uint8_t> voxels;
  PointToIndex<D> pointToIndex = geometry.pointToIndex();
  // Number of the first voxel in `voxels`. Not 0 if the host has only some slices: then no point in the
  // others may be evaluated.
  std::size_t firstVoxel = 0;

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
