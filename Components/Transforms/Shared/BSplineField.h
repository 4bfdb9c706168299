#pragma once

#include "Components/Transforms/Shared/BSplineSupport.h"

namespace tessera {

/// The displacement field u(x) = sum_k c_k prod_d beta_n(i_d(x) - k_d), i(x) the continuous grid index, its
/// derivatives in x and the adjoints of both, for one batch on one thread. Zero where the support of x is not
/// fully inside the grid. Coefficients: all of the first component (grid x fastest), then of the second, ...;
/// in mm along the world's axes.
template <int D>
class BSplineField {
public:
  BSplineField() = default;
  explicit BSplineField(const BSplineGrid<D>& grid);

  /// out = u(x), or x + u(x) if `addPoint`; in place is allowed.
  void displace(const ListSamples<D>&, const double* coefficients, bool addPoint,
                const PointsOut<D>& out) const;
  /// gradient += sum over samples of (du/dc)^T v.
  void pullBack(const ListSamples<D>&, const Covectors<D>&, double* gradient) const;
  /// Of T(x) = x + u(x); layouts as Transform::spatialDerivatives.
  void derivatives(const ListSamples<D>&, const double* coefficients, double* jacobian,
                   double* hessian) const;
  /// As Transform::pullBackSpatialDerivatives.
  void pullBackDerivatives(const ListSamples<D>&, const double* covJacobian, const double* covHessian,
                           double* gradient) const;

private:
  int order_ = 3;
  std::ptrdiff_t points_ = 0; // control points
  int components_ = D;        // those that are displaced
  SupportFinder<D> finder_;
};

}
