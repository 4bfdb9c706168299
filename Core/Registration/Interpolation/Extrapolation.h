#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

namespace tessera {

/// The value at a point T(x) that lies beyond the centres of the moving image's voxels.
enum class Extrapolation {
  constant, // beyond the outer half voxel a constant, within it what the interpolator says
  nearest,  // the nearest point between the first and the last voxel's centre
  mirror,   // its mirror image about those centres, with a period of 2 (size - 1) voxels
};

/// A continuous index of one axis, brought between 0 and `last`, the index of the last voxel. NaN stays NaN,
/// and becomes of an infinite index that is mirrored: no voxel is nearer than others.
template <Extrapolation Rule>
TESSERA_HOST_DEVICE inline double broughtInside(double index, double last)
{
  if constexpr (Rule == Extrapolation::constant)
    return index;
  else if constexpr (Rule == Extrapolation::nearest)
    return index < 0 ? 0 : index > last ? last : index;
  else {
    if (index >= 0 && index <= last)
      return index;
    if (last == 0)
      return index - index; // 0, or NaN
    const double within = std::fmod(std::fabs(index), 2 * last);
    return within > last ? 2 * last - within : within;
  }
}

}
