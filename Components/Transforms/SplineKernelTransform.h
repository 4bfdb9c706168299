#pragma once

#include "Components/Transforms/SplineKernel.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// Spline through landmark pairs: T(x) = x + A x + b + sum_i G(x - p_i) w_i, with T(p_i) = q_i when relaxation is 0
/// (Bookstein, "Principal warps", 1989; Rohr et al., 2001; Davis et al., "A physics-based coordinate transformation for 3-D image
/// matching", 1997). G(x) = f(r) I + g(r) x x^T:
///   ThinPlateSpline r; ThinPlateR2LogRSpline r^2 log r; VolumeSpline r^3; with Poisson ratio v
///   ElasticBodySpline (11 - 12 v) r^3 I - 3 r x x^T; ElasticBodyReciprocalSpline (7 - 8 v) r I - x x^T / r.
/// In 2D each of them is ThinPlateR2LogRSpline, as in elastix. The relaxation factor is added to the diagonal of the matrix of G.
///
/// Parameters: the moving landmarks (mm), point by point; those of the file, since `restore` solves for the w_i. It is evaluated,
/// with derivatives in space, but is no transform to optimise: methods for that throw Error(usage).
template <int D>
class SplineKernelTransform final : public Transform<D> {
public:
  explicit SplineKernelTransform(const Parameters&) {}
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return D * fixedLandmarksMm_.size(); }

  bool canBeOptimized() const override { return false; }
  std::vector<double> initialize(Context&, const TransformStart<D>&) override;
  void prepareForLevel(Context&, std::size_t level, std::vector<double>& parameters) override;
  std::vector<double> scales(Context&, const ListSamples<D>&, std::span<const double> parameters) const override;

  void map(Context&, const Samples<D>&, std::span<const double> parameters, const PointsOut<D>&) const override;
  void pullBack(Context&, const Samples<D>&, std::span<const double> parameters, const Covectors<D>&,
                std::span<double> gradient) const override;
  void pushForward(Context&, const Samples<D>&, std::span<const double> parameters, std::span<const double> step,
                   const PointsOut<D>&) const override;
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                              std::span<const double> scales) const override;
  void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, const double* covJacobian,
                                  const double* covHessian, std::span<double> gradient) const override;
  bool hasHessian() const override { return true; }

  std::vector<FileEntry> fileEntries() const override;
  /// Throws Error(usage) for landmarks that determine no spline (equal ones, or all on a line or plane).
  std::vector<double> restore(const Parameters& transformFile) override;
  ItkTransform itkTransform(std::span<const double> parameters) const override;

private:
  bool solve(const std::vector<double>& movingLandmarksMm);

  SplineKernel kernel_ = SplineKernel::thinPlate;
  double poissonRatio_ = 0.3, relaxation_ = 0;
  std::vector<Vec<D>> fixedLandmarksMm_, weights_; // p_i, w_i
  AffineMap<D> affine_;                            // x + A x + b
};

}
