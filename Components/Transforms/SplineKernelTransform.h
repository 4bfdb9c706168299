#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineSystem.h"
#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Core/Registration/Fields/WholeField.h"
#include "Core/Registration/OptimizableTransform.h"

#include <mutex>

namespace tessera {

/// T(x) = x + A x + b + sum_i G(x - p_i) w_i: a thin-plate or other spline that maps landmarks p_i of the
/// fixed image to landmarks of the moving image. The moving landmarks are its parameters (mm, point by
/// point); they start at the points of -mp, or else at the fixed ones. The fixed landmarks are the points of
/// -fp, mapped by the transform before if the spline is composed with it, or those of a transform file.
///
/// With (SplineSmoothing ...) the parameters start at the values that the smoothing spline of the points of
/// -mp has at the fixed landmarks. The spline through them is that spline, so files need no relaxation, and
/// elastix computes the same.
///
/// T is linear in its parameters (SplineSystem.h). Points are mapped in double precision. On CUDA, whole
/// fields and images are computed to usualFieldToleranceMm (SplineField.h).
template <int D>
class SplineKernelTransform final : public OptimizableTransform<D>,
                                    public SpatialDerivatives<D>,
                                    public KernelForm<D>,
                                    public WholeField<D> {
public:
  explicit SplineKernelTransform(const Parameters&);
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return D * model_.landmarksMm.size(); }
  bool needsLandmarks() const override { return true; }

  std::vector<double> initialize(Context&, const TransformStart<D>&) override;
  void prepareForLevel(Context&, std::size_t, std::vector<double>&) override {}
  /// All scales are 1.
  std::vector<double> scales(Context&, const ListSamples<D>&, std::span<const double>) const override
  {
    return std::vector<double>(parameterCount(), 1.0);
  }

  void map(Context&, const ListSamples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  void pullBack(Context&, const ListSamples<D>&, std::span<const double> parameters, const Covectors<D>&,
                std::span<double> gradient) const override;
  void pushForward(Context&, const ListSamples<D>&, std::span<const double> parameters,
                   std::span<const double> step, const PointsOut<D>&) const override;
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                              std::span<const double> scales) const override;
  void spatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override;
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return true; }

  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const CudaForm<D>* cudaForm() const override { return this; }
  double mappingWork() const override { return (D == 3 ? 0.3 : 1.5) * model_.landmarksMm.size(); }

  TransformKind kind() const override { return TransformKind::kernelSpline; }
  std::unique_ptr<HeldTransformOnCuda<D>> hold(const Context&,
                                               std::span<const double> constant) const override;

  std::string whyNoField(DeviceKind, std::span<const double> parameters,
                         const ImageGeometry<D>& lattice) const override;
  void wholeField(Context&, std::span<const double> parameters, const ImageGeometry<D>& lattice,
                  std::span<float> displacements) const override;
  /// The spline with these parameters, in host memory as long as the transform lives and is evaluated with no
  /// others.
  SplineOfLandmarks<D> splineAt(std::span<const double> parameters) const
  {
    return splineOf(solvedAt(parameters)->vectors);
  }
  /// The smoothing that made the moving landmarks; none if they were not smoothed.
  std::optional<double> smoothing() const { return smoothing_; }

  std::vector<FileEntry> fileEntries() const override;
  /// Throws Error(usage) if the landmarks determine no spline, because some are equal or all lie on a line or
  /// plane.
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;

private:
  struct Solved {
    std::vector<double> parameters, vectors;
  };
  SplineOfLandmarks<D> splineOf(const std::vector<double>& vectors) const
  {
    return {model_.kernel, model_.alpha(), static_cast<int>(model_.landmarksMm.size()),
            model_.landmarksMm.front().data(), vectors.data()};
  }
  std::vector<double> smoothed(const Context&, const PointPairs<D>&);
  std::shared_ptr<const Solved> solvedAt(std::span<const double> parameters) const;
  std::vector<double> vectorsOf(std::vector<double> movingMm) const;
  const std::vector<double>& influence(const Context&) const;

  Parameters settings_;
  SplineModel<D> model_;
  std::optional<double> smoothing_; // for the transform file, too
  std::optional<SplineSolver<D>> solver_;
  mutable std::mutex mutex_; // guards members that are computed when they are first needed
  mutable std::vector<double> influence_;
  mutable std::shared_ptr<const Solved> solved_;
};

}
