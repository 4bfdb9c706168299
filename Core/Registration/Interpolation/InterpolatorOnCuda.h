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

}
