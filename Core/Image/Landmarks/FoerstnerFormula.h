#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Image/ImageGeometry.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::foerstner {

constexpr double sigmaVoxels = 1.4; // of the Gaussian over products of gradients

/// The derivative along an axis, per voxel; at(step) is the image so many voxels further.
template <class At>
TESSERA_HOST_DEVICE float derivative(const At& at)
{
  return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / 12;
}

/// 1 / trace(A^-1) in 2D and 3D; 0 if A is not positive definite.
TESSERA_HOST_DEVICE inline float distinctiveness(double xx, double xy, double yy)
{
  const double determinant = xx * yy - xy * xy, trace = xx + yy;
  return trace > 0 && determinant > 0 ? static_cast<float>(determinant / trace) : 0.0f;
}
TESSERA_HOST_DEVICE inline float distinctiveness(double xx, double xy, double xz, double yy, double yz,
                                                 double zz)
{
  const double minorX = yy * zz - yz * yz, minorY = xx * zz - xz * xz, minorZ = xx * yy - xy * xy;
  const double determinant = xx * minorX - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
  const double sum = minorX + minorY + minorZ;
  return sum > 0 && determinant > 0 ? static_cast<float>(determinant / sum) : 0.0f;
}

/// Whether all voxels of the cube about a place that lie in the image satisfy condition(offset).
template <class Condition>
TESSERA_HOST_DEVICE bool holdsInCube(const Size<3>& size, const std::array<int, 3>& place, int radius,
                                     const Condition& condition)
{
  int low[3], high[3];
  for (int d = 0; d < 3; ++d) {
    const int last = static_cast<int>(size[d]) - 1;
    low[d] = place[d] > radius ? place[d] - radius : 0;
    high[d] = place[d] + radius < last ? place[d] + radius : last;
  }
  for (int z = low[2]; z <= high[2]; ++z)
    for (int y = low[1]; y <= high[1]; ++y) {
      const std::size_t row = static_cast<std::size_t>(size[0]) * (y + static_cast<std::size_t>(size[1]) * z);
      for (int x = low[0]; x <= high[0]; ++x)
        if (!condition(row + x))
          return false;
    }
  return true;
}

/// Whether a voxel is a keypoint: above `least`, in the mask with all its neighbours, and the largest of its
/// cube. Of equal numbers the first one is the largest.
TESSERA_HOST_DEVICE inline bool isKeypoint(const Size<3>& size, const std::array<int, 3>& place, int radius,
                                           const float* values, const std::uint8_t* mask, float least)
{
  const std::size_t here =
      static_cast<std::size_t>(place[0])
      + static_cast<std::size_t>(size[0]) * (place[1] + static_cast<std::size_t>(size[1]) * place[2]);
  const float own = values[here];
  return mask[here] != 0 && own > least
         && holdsInCube(size, place, radius,
                        [&](std::size_t v) { return values[v] < own || (values[v] == own && v >= here); })
         && holdsInCube(size, place, 1, [&](std::size_t v) { return mask[v] != 0; });
}

}
