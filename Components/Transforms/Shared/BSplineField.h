#pragma once

#include "Components/Transforms/Shared/BSplineSupport.h"

namespace tessera {

/// The displacement field u(x) = sum_k c_k prod_d beta_n(i_d(x) - k_d), with i(x) the continuous grid index
/// (Rueckert et al. 1999, eq. 2), its derivatives by x, and the adjoints of both. Each function handles one
/// batch on one thread. All are zero where the support of x is not fully inside the grid. Coefficients are in
/// mm along the world's axes: all of the first component (grid x fastest), then of the second, and so on.
template <int D>
class BSplineField {
public:
  BSplineField() = default;
  explicit BSplineField(const BSplineGrid<D>& grid);

  /// out = u(x), or x + u(x) if `addPoint`; `out` may be the array of points.
  void displace(const ListSamples<D>&, const double* coefficients, bool addPoint,
                const PointsOut<D>& out) const;
  /// gradient += sum over samples of (du/dc)^T v.
  void pullBack(const ListSamples<D>&, const Covectors<D>&, double* gradient) const;
  /// The derivatives of T(x) = x + u(x), in the layouts of Transform::spatialDerivatives. No metric in 4D
  /// needs second ones, or derivatives of these: there are none.
  void derivatives(const ListSamples<D>&, const double* coefficients, double* jacobian,
                   double* hessian) const;
  /// Does the work of Transform::pullBackSpatialDerivatives.
  void pullBackDerivatives(const ListSamples<D>&, const double* covJacobian, const double* covHessian,
                           double* gradient) const;

private:
  int order_ = 3;
  std::ptrdiff_t points_ = 0; // number of control points
  int components_ = D;        // number of components that are displaced
  SupportFinder<D> finder_;
};

}
