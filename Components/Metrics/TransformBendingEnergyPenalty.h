#pragma once

#include "Components/Metrics/Shared/BendingEnergyOnCuda.h"
#include "Components/Transforms/Shared/ExactBendingEnergy.h"
#include "Core/Compute/PinnedValues.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <optional>

namespace tessera {

/// Bending energy of the whole chain at the sampler's points: mean over samples of sum_k |d^2 T_k / dx
/// dx^T|^2 (Frobenius), in mm. Rueckert et al., "Nonrigid registration using free-form deformations", 1999,
/// eq. 4. Samples that map outside the moving mask are left out; the moving image's own extent does not
/// matter. Where the samples are a lattice of voxels along the axes of a cubic B-spline, which bends alone,
/// and no mask leaves any out, their mean is a quadratic form of the coefficients too: no sample is visited.
///
/// (BendingEnergyIntegration "Exact"): that of the chain's last transform alone, a B-spline, as its mean over
/// the fixed level's image between the first and last voxel centres as far as it lies in the grid's valid
/// region; after another transform that it is composed with, over the whole valid region. No samples, no
/// masks.
template <int D>
class TransformBendingEnergyPenalty final : public CostTerm<D>, private TermOnCuda<D> {
public:
  explicit TransformBendingEnergyPenalty(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return !isExact_; }
  void checkTransform(const Transform<D>&) const override;
  std::string whyNotOnCuda(const TransformChain<D>& chain) const override
  {
    return tessera::whyNotOnCuda<D>(chain);
  }
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  DeviceMemory deviceMemory(const TermExtent<D>&) const override;
  void endLevel() override;
  TermOnCuda<D>* onCuda() override;

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override;
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override;
  struct StripeSum {
    double energy = 0;
    SampleCount count;
  };
  void prepareExact();
  ExactBendingEnergy<D>* closedForm(const SampleSet<D>&);
  static std::optional<ExactBendingEnergy<D>> overVoxels(const TransformChain<D>&, const VoxelLattice<D>&);
  StripeSum sumStripe(const SampleSet<D>&, const TransformChain<D>&, std::size_t first, std::size_t last,
                      std::span<double> gradient) const;

  Parameters parameters_;
  ValidSampleRule validSampleRule_;
  bool isExact_;
  TermLevel<D> level_;
  std::optional<ExactBendingEnergy<D>> exact_;
  std::optional<ExactBendingEnergy<D>> overVoxels_; // of `voxels_`, if it has a closed form
  std::optional<VoxelLattice<D>> voxels_;
  Buffer<double> closedValue_; // on a CUDA device
  PinnedValues<double> closedValueFound_;
  std::optional<std::size_t> closedPositions_;     // of the samples enqueued last, if they had a closed form
  std::unique_ptr<BendingEnergyOnCuda<D>> onCuda_; // null: on the CPU

  // Reused over evaluations.
  ChainAtParameters<D> chain_;
  std::vector<StripeSum> sums_;
  StripedGradient stripedGradient_;
};

}
