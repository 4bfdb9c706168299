#pragma once

#include "Core/Image/ImageGeometry.h"

#include <array>

namespace tessera {

/// How a transform is joined to what comes before it: T1(T0(x)) or T0(x) + T1(x) - x.
enum class Combination { compose, add };

enum class CudaForm { none, linear, bspline };

/// Sums over samples x with covectors v, from which the gradient of any linear transform about the centre c follows.
template <int D>
struct CovectorMoments {
  Vec<D> sum{};      // sum of v
  Matrix<D> outer{}; // sum of v (x - c)^T
};

/// A transform as kernels see it: plain data, and pointers to the device's memory that something else owns.
template <int D>
struct TransformOnCuda {
  CudaForm form = CudaForm::none;
  Combination combination = Combination::compose;

  AffineMap<D> map; // linear, in mm
  Vec<D> centerMm{};

  PointToIndex<D> pointToIndex{}; // B-spline: index of control points
  std::array<int, D> points{};    // control points an axis
  int order = 3;
  bool cyclic = false;
  const double* coefficients = nullptr; // mm; component * all control points + control point, x fastest

  TESSERA_HOST_DEVICE int pointCount() const
  {
    int count = 1;
    for (int d = 0; d < D; ++d)
      count *= points[d];
    return count;
  }
  /// Those that a B-spline displaces.
  TESSERA_HOST_DEVICE int components() const { return cyclic ? D - 1 : D; }
};

/// A chain of them, first to last.
template <int D>
struct ChainOnCuda {
  static constexpr int most = 8;
  int count = 0;
  TransformOnCuda<D> links[most];
};

}
