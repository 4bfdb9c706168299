#pragma once

#include "Components/Metrics/Shared/DistancesOnCuda.h"
#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Samples/SamplesForCuda.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

namespace tessera {

/// Mean over the sampler's points of |T(x) - x|^2 in mm^2, T the whole chain. It finds inverses, as elastix's
/// manual describes: T1 registered after T0 with (HowToCombineTransforms "Compose") makes T1(T0(x)) = x.
/// Samples that map outside the moving mask are left out; the extent of the moving image does not matter.
template <int D>
class DisplacementMagnitudePenalty final : public CostTerm<D>, private TermOnCuda<D> {
public:
  explicit DisplacementMagnitudePenalty(const Parameters& parameters) : validSampleRule_(parameters) {}

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda() const override { return D < 4 ? "" : "images of dimension 4"; }
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    distances_.reset();
    samples_.reset();
  }
  TermOnCuda<D>* onCuda() override { return distances_ ? this : nullptr; }

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
               std::span<double> gradient) override
  {
    if constexpr (D < 4)
      distances_->enqueue(context, samples_->of(context, samples), {}, parameters, gradient);
  }
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override
  {
    if constexpr (D < 4)
      return validSampleRule_.checked(level_.level, distances_->collect(parameters, gradient));
    return {};
  }

  ValidSampleRule validSampleRule_;
  TermLevel<D> level_;
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
  std::optional<SamplesForCuda<D>> samples_; // used on a CUDA device
  std::optional<DistancesOnCuda<D>> distances_;
};

}
