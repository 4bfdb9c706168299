#pragma once

#include "Components/Transforms/Shared/AutomaticInitialization.h"
#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Core/Registration/OptimizableTransform.h"

#include <array>
#include <cmath>

namespace tessera {

/// The vector part of the unit quaternion of a rotation whose scalar part is not negative.
inline Vec<3> vectorPartOfQuaternion(const Matrix<3>& rotation)
{
  Vec<3> part;
  for (int axis = 0; axis < 3; ++axis) {
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double square = 1 + rotation[axis][axis] - rotation[a][a] - rotation[b][b];
    part[axis] = std::copysign(std::sqrt(std::fmax(square, 0.0)) / 2, rotation[b][a] - rotation[a][b]);
  }
  return part;
}

/// T(x) = A (x - c) + t + c, with A and t functions of the parameters. This class does everything but those
/// functions.
template <int D>
class LinearTransform : public OptimizableTransform<D>,
                        public SpatialDerivatives<D>,
                        public LinearForm<D>,
                        public KernelForm<D> {
public:
  std::size_t parameterCount() const override { return parameterCount_; }

  std::vector<double> initialize(Context&, const TransformStart<D>&) override;
  std::vector<double> takeOver(Context&, const TransformStart<D>&, std::size_t, const Transform<D>& other,
                               std::span<const double> parameters) override
  {
    centerMm_ = dynamic_cast<const LinearTransform&>(other).centerMm_;
    return {parameters.begin(), parameters.end()};
  }
  void prepareForLevel(Context&, std::size_t, std::vector<double>&) override {}
  std::vector<double> scales(Context&, const ListSamples<D>&,
                             std::span<const double> parameters) const override;

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
  bool hasHessian() const override { return false; }

  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const LinearForm<D>* linear() const override { return this; }
  const CudaForm<D>* cudaForm() const override { return this; }

  TransformKind kind() const override { return TransformKind::linear; }
  std::unique_ptr<HeldTransformOnCuda<D>> hold(const Context&,
                                               std::span<const double> constant) const override;

  AffineMap<D> pointMap(std::span<const double> parameters) const override;
  const Vec<D>& centerMm() const override { return centerMm_; }
  void pullBackMoments(std::span<const double> parameters, const CovectorMoments<D>&,
                       std::span<double> gradient) const override;

  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;

  static constexpr std::size_t maxParameters = D * D + D;
  /// For each parameter mu_k (dA/dmu_k, dt/dmu_k), so that dT/dmu_k = dA_k (x - c) + dt_k; zero beyond the
  /// parameter count.
  using Derivatives = std::array<AffineMap<D>, maxParameters>;
  virtual Derivatives derivatives(std::span<const double> parameters) const = 0;

protected:
  /// How (Scales ...) is read. As in elastix, one value stands for all rotations, except in
  /// SimilarityTransform, which reads one value for each parameter. AffineLogTransform estimates scales
  /// without being asked, but for those that are given.
  enum class ScaleRule { oneForRotations, entryByEntry, none, estimatedUnlessGiven };

  LinearTransform(const Parameters& parameters, std::size_t parameterCount, StartRules startRules,
                  ScaleRule scaleRule)
      : settings_(parameters), parameterCount_(parameterCount), startRules_(startRules), scaleRule_(scaleRule)
  {
  }

  /// Matrix A and translation t.
  virtual AffineMap<D> aboutCenter(std::span<const double> parameters) const = 0;
  /// The parameters of a rotation about the centre; the identity for a transform that does not turn.
  virtual std::vector<double> rotationParameters(const Matrix<D>& rotation) const = 0;
  virtual bool turns() const { return true; }
  /// The index of the first translation among the parameters.
  virtual std::size_t translationIndex() const { return parameterCount_ - D; }
  /// Scales that are used without AutomaticScalesEstimation and without (Scales ...). Those that are not 1
  /// belong to rotations (or to the scale).
  virtual std::vector<double> defaultScales() const;

  /// Rows of the parameter table that all linear transforms but TranslationTransform have.
  static std::vector<ParameterInfo> centeredParameters(StartRules);
  /// Returns derivatives by the parameters of the translation; those by other parameters are 0.
  Derivatives derivativesOfTranslation() const;

  /// "Euler3DTransform_double_3_3"
  static std::string itkClass(const std::string& name);
  std::vector<double> centerAsVector() const { return {centerMm_.begin(), centerMm_.end()}; }

  Parameters settings_;

private:
  StartParts partsOfStart() const { return turns() ? StartParts::all : StartParts::centerAndShift; }
  bool hasCenter() const { return startRules_ != StartRules::translation; }
  bool centerFromSettings(const TransformStart<D>&);
  std::vector<double> gramian(const Context&, const ListSamples<D>&, const Derivatives&) const;
  std::vector<double> givenScales() const;

  std::size_t parameterCount_;
  StartRules startRules_;
  ScaleRule scaleRule_;
  Vec<D> centerMm_{};
};

}
