#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera::foerstner {

constexpr double sigmaVoxels = 1.4; // of the Gaussian over products of gradients

/// The derivative along an axis, per voxel; at(step) is the image so many voxels further.
template <class At>
TESSERA_HOST_DEVICE float derivative(const At& at)
{
  return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / 12;
}

/// 1 / trace(A^-1); 0 if A is not positive definite.
TESSERA_HOST_DEVICE inline float distinctiveness(double xx, double xy, double xz, double yy, double yz,
                                                 double zz)
{
  const double minorX = yy * zz - yz * yz, minorY = xx * zz - xz * xz, minorZ = xx * yy - xy * xy;
  const double determinant = xx * minorX - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
  const double sum = minorX + minorY + minorZ;
  return sum > 0 && determinant > 0 ? static_cast<float>(determinant / sum) : 0.0f;
}

}
