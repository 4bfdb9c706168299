#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

// Where a continuous index lies among the voxels of one axis, and which voxel stands for one beyond the
// border. Voxel i covers [i - 0.5, i + 0.5).
namespace tessera {

/// floor(x) for magnitudes below 2^31.
template <class Real>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE int flooredToInt(Real x)
{
#ifdef __CUDA_ARCH__
  return static_cast<int>(floor(x));
#else
  const int cut = static_cast<int>(x); // conversions are in vectors, floor is not in the baseline's
  return cut - (static_cast<Real>(cut) > x ? 1 : 0);
#endif
}

/// False for NaN too.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE bool isInVoxels(double index, int size)
{
  return index >= -0.5 && index < size - 0.5;
}

/// The nearest voxel of an index that is in the voxels; halves belong to the voxel behind. ITK's nearest
/// neighbour looks at the index itself, its spline of order 0 at the index rounded to float.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE int nearestVoxel(double index, int size, bool inFloat)
{
  const double behind = inFloat ? static_cast<double>(static_cast<float>(index) + 0.5f) : index + 0.5;
  const int nearest = static_cast<int>(behind); // never negative
  return nearest < size ? nearest : size - 1;
}

/// The Order + 1 knots from `first` on that carry an index.
struct KnotCell {
  int first;
  double fraction; // of the cell behind knot first + Order / 2
};

/// The cell of an index that is in the voxels, for splines of order 1 to 5. It is chosen in float, as in
/// ITK's B-splines: a point within float rounding of a voxel belongs to the cell behind it. With
/// `lastVoxelClosesCell` it is chosen in double, and a point on the last voxel belongs to the cell before.
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

/// An index mirrored into [0, last]: ... 2 1 0 1 2 ...
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

/// Half the difference of a voxel's neighbours along an axis, per index; at the border half the difference
/// to its one neighbour, as itk::GradientImageFilter gives it. `at` is the voxel's place along the axis.
template <class Load>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double centralDifference(const float* voxel, int at, int size,
                                                                   long long stride, const Load& load)
{
  const float above = load(at + 1 < size ? voxel + stride : voxel);
  const float below = load(at > 0 ? voxel - stride : voxel);
  return 0.5 * (static_cast<double>(above) - static_cast<double>(below));
}

}
