#pragma once

#include "Components/Metrics/BendingEnergyOnCuda.h"
#include "Core/Registration/ChainAtParameters.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/SampleGather.h"
#include "Core/Registration/StripePlan.h"
#include "Core/Registration/ValidSampleRule.h"

namespace tessera {

/// Bending energy of the whole chain at the sampler's points: mean over samples of sum_k |d^2 T_k / dx dx^T|^2 (Frobenius), in mm.
/// Rueckert et al., "Nonrigid registration using free-form deformations", 1999, eq. 4. Samples that map outside the moving mask
/// are left out; the moving image's own extent does not matter.
template <int D>
class TransformBendingEnergyPenalty final : public CostTerm<D> {
public:
  explicit TransformBendingEnergyPenalty(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda(const TransformChain<D>& chain) const override { return tessera::whyNotOnCuda<D>(chain); }
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  TermValue evaluate(Context&, const SampleSet<D>&, std::span<const double> parameters, std::span<double> gradient) override;
  void give(Context&, const SampleSet<D>&, std::span<const double> parameters, std::span<double> gradient) override;
  TermValue take(std::span<const double> parameters, std::span<double> gradient) override;

private:
  struct StripeSum {
    double energy = 0;
    SampleCount count;
  };
  StripeSum sumStripe(const SampleSet<D>&, const TransformChain<D>&, std::size_t first, std::size_t last,
                      std::span<double> gradient) const;

  ValidSampleRule validSampleRule_;
  TermLevel<D> level_;
  std::unique_ptr<BendingEnergyOnCuda<D>> onCuda_; // null: on the CPU

  // Reused over evaluations.
  ChainAtParameters<D> chain_;
  std::vector<StripeSum> sums_;
  StripedGradient stripedGradient_;
};

}
