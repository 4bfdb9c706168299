#pragma once

#include "Core/Image/ImageGeometry.h"

#include <array>

namespace tessera {

/// An interpolator in the form that kernels take: plain numbers, and a pointer to device memory that the
/// interpolator owns.
template <int D>
struct InterpolatorOnCuda {
  const float* coefficients = nullptr; // one a voxel, x fastest; for orders 0 and 1 intensities
  std::array<int, D> size{};
  PointToIndex<D> pointToIndex{};
  int order = 1;                    // 0 (nearest voxel) to 5
  bool lastVoxelClosesCell = false; // see SplineImage
  bool repeatsBorder =
      false; // beyond the border order 1 repeats the border voxels, else mirrors; values alone
  bool nearestInDouble = false; // whether order 0 rounds the index itself, or the index in float

  InterpolatorOnCuda() = default;
  InterpolatorOnCuda(const float* onCuda, const ImageGeometry<D>& geometry, int splineOrder)
      : coefficients(onCuda), pointToIndex(geometry.pointToIndex()), order(splineOrder)
  {
    for (int d = 0; d < D; ++d)
      size[d] = static_cast<int>(geometry.size[d]);
  }
};

/// Whether an index along the axis of time lies in a series: up to half a time before the first one and after
/// the last one, where it ends.
TESSERA_HOST_DEVICE inline bool isInTimes(int count, double index)
{
  return index >= -0.5 && index < count - 0.5;
}
/// The number of the time that is nearest to such an index, held to the times 0 to count - 1. Halfway between
/// two it is the even one, as in elastix.
TESSERA_HOST_DEVICE inline int nearestTimeOf(int count, double index)
{
  const double nearest = rint(index);
  return nearest > 0 ? static_cast<int>(nearest < count ? nearest : count - 1) : 0;
}

/// An interpolator of a series, whose last axis is time, in that form: a spline in the slice that is nearest
/// in time.
template <int D>
struct SlicedSeriesOnCuda {
  InterpolatorOnCuda<D - 1> first; // of the first slice; that of the next one begins voxelsOfSlice further on
  int order = 1;
  long long voxelsOfSlice = 0;
  int count = 0;
  PointToIndex<D> pointToIndex{}; // of the series
};

}
