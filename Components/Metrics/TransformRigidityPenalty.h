#pragma once

#include "Components/Metrics/Shared/Rigidity/RigidityImages.h"
#include "Components/Metrics/Shared/Rigidity/RigidityOnCpu.h"
#include "Components/Metrics/Shared/Rigidity/RigidityOnCuda.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Core/Registration/CostTerm.h"

#include <optional>

namespace tessera {

/// Keeps a cubic B-spline, the last transform of the chain, rigid where images of rigidity say so. Staring et
/// al., "A rigidity penalty term for nonrigid registration", 2007. With u the displacement at the control
/// points, F = I + du/dx, and r the rigidity of each control point, it is the sum of these conditions, each
/// times its weight and as a mean over the control points weighted by r:
///
///   linearity       sum of the squares of second derivatives of u. They are elastix's: see rigidityFactors
///   orthonormality  sum over a <= b of ((F^T F - I)_ab)^2
///   properness      (det F - 1)^2
///
/// Derivatives come from the coefficients of neighbouring control points; at the border of the grid its
/// coefficients are repeated. The gradient is exact with r held. If the sum of r is 0, so is the penalty.
/// elastix takes the axes of a turned grid for those of the world; here F is in the world's axes.
template <int D>
class TransformRigidityPenalty final : public CostTerm<D>, private TermOnCuda<D> {
public:
  explicit TransformRigidityPenalty(const Parameters&, RigidityImagesUsed = {});

  static const ComponentDescription& description();
  static std::vector<ParameterInfo> parameters();

  bool needsSampler() const override { return false; }
  void checkTransform(const Transform<D>&) const override;
  std::string whyNotOnCuda() const override { return ""; }
  std::vector<TermColumn> columns() const override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    onCpu_.reset();
    onCuda_.reset();
  }
  TermOnCuda<D>* onCuda() override { return onCuda_ ? this : nullptr; }

private:
  TermValue evaluateHere(Context& context, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override
  {
    rigidities_.resize(transform_->grid().pointCount());
    images_.atControlPoints(context, *transform_, parameters, rigidities_);
    return valueOf(onCpu_->evaluate(context, parameters, rigidities_, weights_, gradient), !gradient.empty());
  }
  void enqueue(Context& context, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override
  {
    onCuda_->enqueue(context, parameters, weights_, gradient);
  }
  TermValue collect(std::span<const double>, std::span<double> gradient) override
  {
    return valueOf(onCuda_->sums(), !gradient.empty());
  }
  TermValue valueOf(const RigiditySums&, bool withGradient);

  Parameters parameters_;
  RigidityImages<D> images_;
  const BSplineTransform<D>* transform_ = nullptr;
  RigidityWeights weights_{};                        // those of the level; 0: the condition is not used
  std::array<bool, rigidity::conditions> isShown_{}; // whether the table has its value
  std::array<double, rigidity::conditions> values_{}, norms_{}; // at the last evaluation with a gradient
  std::vector<double> rigidities_;                              // at the control points, on the CPU
  std::optional<RigidityOnCpu<D>> onCpu_;
  std::optional<RigidityOnCuda<D>> onCuda_;
};

}
