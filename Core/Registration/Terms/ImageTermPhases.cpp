#include "Core/Registration/Terms/ImageTerm.h"

#include "Core/Compute/Transfers.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t maxBatches = 64;

/// First positions of some batches that are spread evenly over all positions.
std::vector<std::size_t> spreadBatches(std::size_t positions)
{
  const std::size_t batches = (positions + batchCapacity - 1) / batchCapacity,
                    step = (batches + maxBatches - 1) / maxBatches;
  std::vector<std::size_t> firsts;
  for (std::size_t batch = 0; batch < batches; batch += step)
    firsts.push_back(batch * batchCapacity);
  return firsts;
}

}

/// Times some batches, spread over all samples, on one thread: only the proportion of the parts matters. The
/// time of interpolation is that of gathering less that of the transform.
template <int D>
std::vector<Phase> ImageTerm<D>::timePhasesOnCpu(const SampleSet<D>& samples,
                                                 std::span<const double> parameters, bool withGradient)
{
  const std::size_t positions = positionCount<D>(samples);
  const std::vector<std::size_t> batches = spreadBatches(positions);
  const bool keeps = withGradient && positions <= maxPositionsKept;
  const TransformChain<D>& chain = chain_(*level_.chain, parameters);
  Context oneThread;
  PointBatch<D> points;
  std::vector<float> fixed(batchCapacity), slopes(batchCapacity);
  std::vector<double> gradient(withGradient ? parameters.size() : 0);
  ValidSampleArrays<D> arrays;
  arrays.grow(batchCapacity);
  double transform = 0, gathering = 0, metric = 0, ofSlopes = 0, pullBack = 0, finish = 0;

  const auto gather = [&](std::size_t first, bool gradients, bool counts) {
    const std::size_t last = std::min(first + batchCapacity, positions);
    double notCounted = 0;
    addMilliseconds(counts ? transform : notCounted, [&] {
      fillBatch<D>(samples, first, last, points, fixed.data());
      mapChain<D>(oneThread, chain, points.list(), points.out());
    });
    SampleCount found;
    addMilliseconds(counts ? gathering : notCounted,
                    [&] { found = gather_.gather(samples, first, last, chain, arrays.at(0, gradients)); });
    return found.valid;
  };
  metric_->begin(1);
  std::size_t allValid = 0;
  for (const std::size_t first : batches) {
    const std::size_t valid = gather(first, keeps, true);
    addMilliseconds(metric, [&] {
      metric_->accumulate(0, arrays.at(0, false).fixed, arrays.at(0, false).moving, valid);
    });
    allValid += valid;
  }
  addMilliseconds(finish, [&] { metric_->finish(allValid); });
  for (const std::size_t first : batches) {
    if (!withGradient)
      break;
    const std::size_t valid = gather(first, true, !keeps);
    const ValidSamples<D> batch = arrays.at(0, true);
    addMilliseconds(ofSlopes, [&] { metric_->slopes(batch.fixed, batch.moving, valid, slopes.data()); });
    addMilliseconds(pullBack, [&] { pullBackBatch(batch, valid, chain, gradient); });
  }

  const std::size_t all = (positions + batchCapacity - 1) / batchCapacity;
  finish /= static_cast<double>(std::max<std::size_t>(1, all))
            / static_cast<double>(std::max<std::size_t>(1, batches.size()));
  std::vector<Phase> phases{{"transform", transform},
                            {"interpolation", std::max(0.0, gathering - transform)},
                            {"metric", metric + finish + ofSlopes}};
  if (withGradient)
    phases.push_back({"pull-back", std::max(0.0, pullBack - ofSlopes)});
  return phases;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template std::vector<Phase> ImageTerm<D>::timePhasesOnCpu(const SampleSet<D>&, std::span<const double>,    \
                                                            bool);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
