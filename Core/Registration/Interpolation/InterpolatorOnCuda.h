#pragma once

#include "Core/Image/ImageGeometry.h"

#include <array>

namespace tessera {

/// An interpolator as kernels see it: plain data, and a pointer to the device's memory that the interpolator
/// owns.
template <int D>
struct InterpolatorOnCuda {
  const float* coefficients = nullptr; // one a voxel, x fastest: intensities for orders 0 and 1
  std::array<int, D> size{};
  PointToIndex<D> pointToIndex{};
  int order = 1;                    // 0: nearest voxel; to 5
  bool lastVoxelClosesCell = false; // as SplineImage has it
  bool repeatsBorder = false;   // beyond the border order 1 repeats the border voxels, else mirrors; values alone
  bool nearestInDouble = false; // order 0 chooses the voxel by the index itself, else by the index in float

  InterpolatorOnCuda() = default;
  InterpolatorOnCuda(const float* onCuda, const ImageGeometry<D>& geometry, int splineOrder)
      : coefficients(onCuda), pointToIndex(geometry.pointToIndex()), order(splineOrder)
  {
    for (int d = 0; d < D; ++d)
      size[d] = static_cast<int>(geometry.size[d]);
  }
};

}
