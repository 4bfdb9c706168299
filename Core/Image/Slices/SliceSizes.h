#pragma once

#include "Core/Image/ImageGeometry.h"

#include <cstddef>

namespace tessera {

/// The largest number of slices of one launch: a CUDA grid has no more blocks along its last axis.
constexpr std::size_t maxSlicesOfLaunch = 65535;

/// The number of voxels that a grid has for each index of its last axis.
template <int D>
std::size_t voxelsOfSlice(const ImageGeometry<D>& grid)
{
  return productOf(std::span(grid.size).first(D - 1));
}

}
