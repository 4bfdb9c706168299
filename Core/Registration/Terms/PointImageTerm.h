#pragma once

#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Metric.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"

#include <optional>
#include <vector>

namespace tessera {

/// ImageTerm on the CPU where each sample goes through the chain by itself. Work is cut into stripes of
/// constant size, whose sums are added in order, so results have the same bits for any number of threads.
template <int D>
class PointImageTerm {
public:
  /// The samples and the parameters of one evaluation.
  struct Target {
    const SampleSet<D>& samples;
    std::span<const double> parameters; // parameters of the last transform
  };

  PointImageTerm(const TermLevel<D>& level, const std::optional<Matrix<D>>& gradientMatrix,
                 PairMetric& metric)
      : level_(level), metric_(metric)
  {
    gather_.prepareForLevel(level, gradientMatrix);
  }

  /// Pass 1: begins the metric and gives it all samples.
  SampleCount accumulate(Context&, const Target&, bool withGradient);
  /// The metric's value over so many valid samples, after accumulate.
  double finish(Context&, std::size_t valid) { return metric_.finish(valid); }
  /// Pass 2; overwrites the gradient. Call it with the same target, after accumulate with a gradient and
  /// after finish.
  void pullBack(Context&, const Target&, std::span<double> gradient);
  /// Times some batches, spread over all samples, on one thread: only the proportion of the parts matters.
  std::vector<Phase> timePhases(Context&, const Target&, std::span<double> gradient);

private:
  /// Pass 1 keeps up to so many samples, 44 bytes each; if there are more, pass 2 gathers them again.
  static constexpr std::size_t maxPositionsKept = std::size_t(1) << 18;

  /// The data that the stripes of one evaluation share.
  struct Work {
    const SampleSet<D>& samples;
    const TransformChain<D>& chain;
    StripePlan plan;
    bool keeps; // pass 1 gathers gradients too and keeps its samples for pass 2
  };
  Work workOf(const Target& target, bool withGradient)
  {
    const std::size_t positions = positionCount<D>(target.samples);
    return {target.samples, chain_(*level_.chain, target.parameters),
            planStripes(positions, target.parameters.size()), withGradient && positions <= maxPositionsKept};
  }
  SampleCount accumulateStripe(const Work&, std::size_t stripe);
  void pullBackStripe(const Work&, std::size_t stripe);
  void pullBackBatch(const ValidSamples<D>&, std::size_t count, const TransformChain<D>&,
                     std::span<double> gradient) const;

  TermLevel<D> level_;
  PairMetric& metric_;
  SampleGather<D> gather_;

  // These arrays are kept only to avoid new allocations in each evaluation.
  ChainAtParameters<D> chain_;
  std::optional<Work> work_;        // that of the last accumulate
  std::vector<SampleCount> counts_; // one a stripe
  ValidSampleArrays<D> kept_;       // samples of all stripes, each stripe from its first position on
  StripedGradient stripedGradient_;
};

}
