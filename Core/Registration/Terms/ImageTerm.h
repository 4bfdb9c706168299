#pragma once

#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Metric.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"
#include "Core/Registration/Terms/DenseImageTerm.h"
#include "Core/Registration/Terms/ImageTermOnCuda.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <memory>

namespace tessera {

/// A metric between the fixed image and the moving image under the chain. The chain rule is written here once
/// for every formula:
///
/// d value / d parameters = sum over samples of J^T (slope * gradient of the moving image),
///
/// with J, the derivative of the last transform by its parameters, taken at T0(x) if that transform is
/// composed with the ones before (T0), and at x if it is added to them. Work is cut into stripes of constant
/// size, and their sums are added in order, so results have the same bits for any number of threads.
template <int D>
class ImageTerm final : public CostTerm<D>, private TermOnCuda<D> {
public:
  ImageTerm(const Parameters&, std::unique_ptr<Metric>);

  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda(const TransformChain<D>& chain) const override
  {
    const std::string why = tessera::whyNotOnCuda<D>(chain);
    return why.empty() ? metric_->whyNotOnCuda() : why;
  }
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  DeviceMemory deviceMemory(const TermExtent<D>&) const override;
  void endLevel() override { onCuda_.reset(); }
  TermOnCuda<D>* onCuda() override { return onCuda_ ? this : nullptr; }
  std::vector<Phase> timePhases(Context&, const SampleSet<D>&, std::span<const double> parameters,
                                std::span<double> gradient) override;

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override;
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override;

  /// Pass 1 keeps up to so many samples, 44 bytes each; if there are more, pass 2 gathers them again.
  static constexpr std::size_t maxPositionsKept = std::size_t(1) << 18;

  std::vector<Phase> timePhasesOnCpu(const SampleSet<D>&, std::span<const double> parameters,
                                     bool withGradient);

  struct Work;
  TermValue evaluateDense(Context&, const typename DenseImageTerm<D>::Target&, std::span<double> gradient);
  TermValue evaluateByPoints(Context&, const SampleSet<D>&, std::span<const double> parameters,
                             std::span<double> gradient);
  TermValue finish(const SampleCount&);
  SampleCount accumulateStripe(const Work&, std::size_t stripe);
  void pullBackStripe(const Work&, std::size_t stripe);
  void pullBackBatch(const ValidSamples<D>&, std::size_t count, const TransformChain<D>&,
                     std::span<double> gradient) const;

  Parameters parameters_;
  std::unique_ptr<Metric> metric_;
  ValidSampleRule validSampleRule_;
  TermLevel<D> level_;
  SampleGather<D> gather_;
  std::unique_ptr<ImageTermOnCuda<D>> onCuda_; // null unless the level runs on a CUDA device
  std::optional<FieldOfLattice<D>> fields_;    // fields_ and dense_ exist in levels on the CPU
  std::optional<DenseImageTerm<D>> dense_;

  // These arrays are kept only to avoid new allocations in each evaluation.
  ChainAtParameters<D> chain_;
  std::vector<SampleCount> counts_; // one a stripe
  ValidSampleArrays<D> kept_;       // samples of all stripes, each stripe from its first position on
  StripedGradient stripedGradient_;
};

/// Parameters that every image metric reads; a metric's description has them after its own.
std::vector<ParameterInfo> imageTermParameters();

}
