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

/// A metric between the fixed image and the moving image under the chain: the chain rule, written once for
/// every formula.
///
/// d value / d parameters = sum over samples of J^T (slope * gradient of the moving image), J at T0(x) if
/// composed, at x if added. Work is cut into stripes of constant size that are summed in their order: the
/// same bits for any number of threads.
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

  static constexpr std::size_t maxPositionsKept =
      std::size_t(1) << 18; // 44 bytes each; more are gathered again for the gradient

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
  std::unique_ptr<ImageTermOnCuda<D>> onCuda_; // of a level on a CUDA device
  std::optional<FieldOfLattice<D>> fields_;    // of a level on the CPU, and dense_
  std::optional<DenseImageTerm<D>> dense_;

  // Reused over evaluations.
  ChainAtParameters<D> chain_;
  std::vector<SampleCount> counts_; // one a stripe
  ValidSampleArrays<D> kept_;       // of all stripes, each from its first position on
  StripedGradient stripedGradient_;
};

/// Parameters that every image metric reads; a metric's description has them after its own.
std::vector<ParameterInfo> imageTermParameters();

}
