#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

// The place of a continuous index among the voxels of one axis, and the voxel that takes the place of one
// beyond the border. Voxel i covers [i - 0.5, i + 0.5).
namespace tessera {

/// floor(x) for magnitudes below 2^31.
template <class Real>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE int flooredToInt(Real x)
{
#ifdef __CUDA_ARCH__
  return static_cast<int>(floor(x));
#else
  // The baseline has vector instructions for conversions, but none for floor.
  const int cut = static_cast<int>(x);
  return cut - (static_cast<Real>(cut) > x ? 1 : 0);
#endif
}

/// The end of the voxels of an axis. A loop over indices computes it beforehand: with the conversion of
/// `size` in the loop g++ 12 does not turn the loop into vectors.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double endOfVoxels(int size)
{
  return size - 0.5;
}

/// Whether the index lies in the voxels, whose end is endOfVoxels(size); false for NaN.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE bool isBeforeEnd(double index, double end)
{
  return index >= -0.5 && index < end;
}

TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE bool isInVoxels(double index, int size)
{
  return isBeforeEnd(index, endOfVoxels(size));
}

/// The voxel nearest to an index that lies in the voxels. An index halfway between two belongs to the upper
/// one. ITK's nearest neighbour compares the index itself, and its spline of order 0 the index rounded to
/// float.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE int nearestVoxel(double index, int size, bool inFloat)
{
  const double behind = inFloat ? static_cast<double>(static_cast<float>(index) + 0.5f) : index + 0.5;
  const int nearest = static_cast<int>(behind); // never negative
  return nearest < size ? nearest : size - 1;
}

/// The Order + 1 knots from `first` on in whose support an index lies.
struct KnotCell {
  int first;
  double fraction; // place in the cell behind knot first + Order / 2, from 0 to 1
};

/// The cell of an index that lies in the voxels, for splines of order 1 to 5. The comparison is in float, as
/// in ITK's B-splines: a point within float rounding of a voxel belongs to the cell behind it. With
/// `lastVoxelClosesCell` it is in double, and a point on the last voxel belongs to the cell before.
template <int Order>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE KnotCell knotCell(double index, int size, bool lastVoxelClosesCell)
{
  constexpr float half = Order % 2 == 0 ? 0.5f : 0.0f;
  const double shifted = index + half;
  int floored;
  if (lastVoxelClosesCell) {
    floored = flooredToInt(shifted);
    floored -= shifted == size - 1 ? 1 : 0;
  } else {
    floored = flooredToInt(static_cast<float>(index) + half);
  }
  return {floored - Order / 2, shifted - floored};
}

/// The index mirrored into [0, last]: ... 2 1 0 1 2 ...
TESSERA_HOST_DEVICE inline int mirrored(int index, int last)
{
  if (last == 0)
    return 0;
  while (index < 0 || index > last)
    index = index < 0 ? -index : 2 * last - index;
  return index;
}

/// The nearest index in [0, last].
TESSERA_HOST_DEVICE inline int repeated(int index, int last)
{
  return index < 0 ? 0 : index > last ? last : index;
}

/// Half the difference of a voxel's neighbours along one axis, per index. At the border it is half the
/// difference to the one neighbour, as in itk::GradientImageFilter. `at` is the voxel's place along the axis.
template <class Load>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double centralDifference(const float* voxel, int at, int size,
                                                                   long long stride, const Load& load)
{
  const float above = load(at + 1 < size ? voxel + stride : voxel);
  const float below = load(at > 0 ? voxel - stride : voxel);
  return 0.5 * (static_cast<double>(above) - static_cast<double>(below));
}

}
