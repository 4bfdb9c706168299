#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/ProjectedSystem.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"
#include "Core/Compute/Context.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// All that determines a spline, except its moving landmarks.
template <int D>
struct SplineModel {
  SplineKernel kernel = SplineKernel::thinPlate;
  double poissonRatio = 0.3; // used by the elastic kernels
  double relaxation = 0;     // elastix's, 0 or more: 0 interpolates the landmarks
  std::vector<Vec<D>> landmarksMm;

  double alpha() const { return elasticAlpha(kernel, poissonRatio); }
  /// How many components of the displacements its system couples: D, or 1 if G is a multiple of I.
  std::size_t block() const { return D == 3 && hasOuterProduct(kernel) ? D : 1; }
  /// Whether the relaxation lets the spline approximate the landmarks. If not, it amplifies their errors.
  bool relaxationSmooths() const { return relaxation * kernelSign<D>(kernel) >= 0; }
  /// How many vectors a spline consists of: weights, columns of I + A, and b.
  std::size_t vectors() const { return landmarksMm.size() + D + 1; }
};

/// The vectors of SplineOfLandmarks for moving landmarks, point by point (Davis et al., "A physics-based
/// coordinate transformation for 3-D image matching", 1997). They solve
///
///   (K + relaxation I) w + P a = displacements of the landmarks,  P^T w = 0.
///
/// There is no result if the landmarks determine no spline, because some are equal or all lie on a line or
/// plane.
template <int D>
std::optional<std::vector<double>> splineVectors(const Context&, const SplineModel<D>&,
                                                 std::span<const double> movingLandmarksMm);

/// The vectors if the moving landmarks equal the fixed ones: zero weights, the identity, 0.
template <int D>
std::vector<double> identityVectors(const SplineModel<D>&);

/// d vectors / d moving landmarks, row-major: vectors() * block rows of landmarks * block numbers, the same
/// for all components if block is 1. There is no result if the landmarks determine no spline.
template <int D>
std::optional<std::vector<double>> splineInfluence(const Context&, const SplineModel<D>&);

/// Finds vectors for any moving landmarks of one model, without its influence matrix unless the relaxation
/// does not smooth.
template <int D>
class SplineSolver {
public:
  /// There is no result if the landmarks determine no spline.
  static std::optional<SplineSolver> of(const Context&, const SplineModel<D>&);

  /// vectors += those of the displacements of the landmarks, point by point.
  void addVectors(std::span<const double> displacementsMm, std::span<double> vectors) const;
  /// gradient += the derivatives of a value by the displacements, from those by the vectors: the adjoint.
  void addGradient(std::span<const double> byVectors, std::span<double> gradient) const;

private:
  SplineSolver(const SplineModel<D>&);

  SplineModel<D> model_;
  Vec<D> centerMm_{};
  double extentMm_ = 1;
  std::optional<ProjectedSystem> system_; // with its factor
  std::vector<double> influence_;         // in place of it
};

/// Landmarks that a spline has smoothed: its values at the fixed landmarks, point by point, in mm, and the
/// smoothing. Without relaxation the spline through them is the same spline.
struct SmoothedLandmarks {
  std::vector<double> movingMm;
  double smoothing = 0;
};

/// The spline f that makes
///
///   sum_i weight_i |f(p_i) - q_i|^2 + smoothing J(f)
///
/// least, where q_i are the moving landmarks and J is the roughness that belongs to the kernel. The model's
/// relaxation is not used. No weights: all are 1; else they are above 0, and are divided by their mean. No
/// smoothing: the one with the least generalised cross-validation, to about 5 %. There is no result if the
/// landmarks determine no spline.
template <int D>
std::optional<SmoothedLandmarks>
smoothedLandmarks(const Context&, const SplineModel<D>&, std::span<const double> movingLandmarksMm,
                  std::span<const double> weights, std::optional<double> smoothing);

}
