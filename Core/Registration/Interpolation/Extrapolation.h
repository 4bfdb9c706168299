#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

namespace tessera {

/// The value at a point T(x) that lies beyond the centres of the moving image's voxels.
enum class Extrapolation {
  /// A constant beyond the outer half voxel; within it the interpolator's value.
  constant,
  /// The value at the nearest point between the first and the last voxel's centres.
  nearest,
  /// The value at the mirror image about these centres, with a period of 2 (size - 1) voxels.
  mirror,
};

/// A continuous index of one axis, moved between 0 and `last`, the index of the last voxel. NaN stays NaN. A
/// mirrored infinite index becomes NaN, because no voxel is nearer to it than others.
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
      return index - index; // 0 for a finite index, otherwise NaN
    const double within = std::fmod(std::fabs(index), 2 * last);
    return within > last ? 2 * last - within : within;
  }
}

}
