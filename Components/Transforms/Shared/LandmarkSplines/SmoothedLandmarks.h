#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineSystem.h"

namespace tessera {

/// Landmarks that a spline has smoothed: its values at the fixed landmarks, point by point, in mm, and the
/// smoothing. Without relaxation the spline through them is the same spline.
struct SmoothedLandmarks {
  std::vector<double> movingMm;
  double smoothing = 0;
};

/// How exact landmarks are: covariances of their errors (in any one unit) or, if there are none, weights
/// above 0, the inverse variances. Without either all are equal.
template <int D>
struct LandmarkErrors {
  std::span<const double> weights = {};
  std::span<const Matrix<D>> covariances = {};
};

/// The spline f that makes
///
///   sum_i (f(p_i) - q_i)^T C_i^-1 (f(p_i) - q_i) + smoothing J(f)
///
/// least (Rohr, Fornefett and Stiehl, "Approximating thin-plate splines for elastic registration: integration
/// of landmark errors and orientation attributes", IPMI 1999), where q_i are the moving landmarks, C_i the
/// covariances of their errors, and J is the roughness that belongs to the kernel. The model's relaxation is
/// not used. Inverse variances are divided by their mean over landmarks and components. Covariances couple
/// the components of displacements, so that the system has D times as many rows. No smoothing: the one with
/// the least generalised cross-validation, to about 5 %. There is no result if the landmarks determine no
/// spline. Throws std::invalid_argument if a covariance is not positive definite.
template <int D>
std::optional<SmoothedLandmarks>
smoothedLandmarks(const Context&, const SplineModel<D>&, std::span<const double> movingLandmarksMm,
                  const LandmarkErrors<D>& errors, std::optional<double> smoothing);

}
