#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/ImageGeometry.h"

#include <cstddef>
#include <span>

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

/// The largest number of slices of one launch: a CUDA grid has no more blocks along its last axis.
constexpr std::size_t maxSlicesOfLaunch = 65535;

/// The number of voxels that a grid has for each index of its last axis.
template <int D>
std::size_t voxelsOfSlice(const ImageGeometry<D>& grid)
{
  return productOf(std::span(grid.size).first(D - 1));
}

}
