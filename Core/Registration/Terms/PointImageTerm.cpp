#include "Core/Registration/Terms/PointImageTerm.h"

#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Terms/WarpedLattice.h"

#include <algorithm>

namespace tessera {
namespace {

/// One thread's arrays for a batch of samples that need not be kept for pass 2.
template <int D>
ValidSampleArrays<D>& batchOfThisThread()
{
  thread_local ValidSampleArrays<D> arrays;
  arrays.grow(batchCapacity);
  return arrays;
}

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

template <int D>
SampleCount PointImageTerm<D>::accumulate(Context& context, const Target& target, bool withGradient)
{
  const Work& work = work_.emplace(workOf(target, withGradient));
  const std::size_t stripes = work.plan.stripes;
  if (work.keeps)
    kept_.grow(stripes * work.plan.positionsPerStripe);
  counts_.assign(stripes, {});
  metric_.begin(stripes);
  forEachChunk(context, stripes,
               [&](std::size_t stripe) { counts_[stripe] = accumulateStripe(work, stripe); });
  SampleCount total;
  for (const SampleCount& count : counts_)
    total += count;
  return total;
}

template <int D>
void PointImageTerm<D>::pullBack(Context& context, const Target&, std::span<double> gradient)
{
  const std::size_t stripes = work_->plan.stripes;
  stripedGradient_.begin(gradient, stripes);
  forEachChunk(context, stripes, [&](std::size_t stripe) { pullBackStripe(*work_, stripe); });
  stripedGradient_.sum(context, 1);
}

/// Pass 1 over one stripe: gathers its samples and adds them to the metric's sums.
template <int D>
SampleCount PointImageTerm<D>::accumulateStripe(const Work& work, std::size_t stripe)
{
  const std::size_t begin = work.plan.first(stripe), end = work.plan.last(stripe);
  SampleCount total;
  for (std::size_t first = begin; first < end; first += batchCapacity) {
    const ValidSamples<D> out =
        work.keeps ? kept_.at(begin + total.valid, true) : batchOfThisThread<D>().at(0, false);
    const SampleCount count =
        gather_.gather(work.samples, first, std::min(first + batchCapacity, end), work.chain, out);
    metric_.accumulate(stripe, out.fixed, out.moving, count.valid);
    total += count;
  }
  return total;
}

/// Pass 2 over one stripe: from the metric's slopes to the gradient of the parameters.
template <int D>
void PointImageTerm<D>::pullBackStripe(const Work& work, std::size_t stripe)
{
  const std::span<double> gradient = stripedGradient_.clearedStripe(stripe);
  const std::size_t begin = work.plan.first(stripe), end = work.plan.last(stripe);
  if (work.keeps) {
    const std::size_t valid = counts_[stripe].valid;
    for (std::size_t first = 0; first < valid; first += batchCapacity)
      pullBackBatch(kept_.at(begin + first, true), std::min(batchCapacity, valid - first), work.chain,
                    gradient);
    return;
  }
  for (std::size_t first = begin; first < end; first += batchCapacity) {
    const ValidSamples<D> batch = batchOfThisThread<D>().at(0, true);
    const SampleCount count =
        gather_.gather(work.samples, first, std::min(first + batchCapacity, end), work.chain, batch);
    pullBackBatch(batch, count.valid, work.chain, gradient);
  }
}

template <int D>
void PointImageTerm<D>::pullBackBatch(const ValidSamples<D>& batch, std::size_t count,
                                      const TransformChain<D>& chain, std::span<double> gradient) const
{
  if (count == 0)
    return;
  float slopes[batchCapacity];
  metric_.slopes(batch.fixed, batch.moving, count, slopes);
  ListSamples<D> points;
  std::array<const float*, D> gradientPerMm;
  points.count = count;
  std::ranges::copy(batch.pointMm, points.pointMm.begin());
  std::ranges::copy(batch.gradientPerMm, gradientPerMm.begin());
  pullBackSlopes<D>(chain, points, slopes, gradientPerMm, gradient);
}

/// The time of interpolation is that of gathering less that of the transform.
template <int D>
std::vector<Phase> PointImageTerm<D>::timePhases(Context&, const Target& target,
                                                 std::span<double> gradientOfAll)
{
  const SampleSet<D>& samples = target.samples;
  const bool withGradient = !gradientOfAll.empty();
  const std::size_t positions = positionCount<D>(samples);
  const std::vector<std::size_t> batches = spreadBatches(positions);
  const bool keeps = withGradient && positions <= maxPositionsKept;
  const TransformChain<D>& chain = chain_(*level_.chain, target.parameters);
  Context oneThread;
  PointBatch<D> points;
  std::vector<float> fixed(batchCapacity), slopes(batchCapacity);
  std::vector<double> gradient(gradientOfAll.size());
  ValidSampleArrays<D> arrays;
  arrays.grow(batchCapacity);
  double transform = 0, gathering = 0, metric = 0, metricSlopes = 0, pullBack = 0, finish = 0;

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
  metric_.begin(1);
  std::size_t allValid = 0;
  for (const std::size_t first : batches) {
    const std::size_t valid = gather(first, keeps, true);
    addMilliseconds(
        metric, [&] { metric_.accumulate(0, arrays.at(0, false).fixed, arrays.at(0, false).moving, valid); });
    allValid += valid;
  }
  addMilliseconds(finish, [&] { metric_.finish(allValid); });
  for (const std::size_t first : batches) {
    if (!withGradient)
      break;
    const std::size_t valid = gather(first, true, !keeps);
    const ValidSamples<D> batch = arrays.at(0, true);
    addMilliseconds(metricSlopes, [&] { metric_.slopes(batch.fixed, batch.moving, valid, slopes.data()); });
    addMilliseconds(pullBack, [&] { pullBackBatch(batch, valid, chain, gradient); });
  }

  const std::size_t all = (positions + batchCapacity - 1) / batchCapacity;
  finish /= static_cast<double>(std::max<std::size_t>(1, all))
            / static_cast<double>(std::max<std::size_t>(1, batches.size()));
  std::vector<Phase> phases{{"transform", transform},
                            {"interpolation", std::max(0.0, gathering - transform)},
                            {"metric", metric + finish + metricSlopes}};
  if (withGradient)
    phases.push_back({"pull-back", std::max(0.0, pullBack - metricSlopes)});
  return phases;
}

TESSERA_INSTANTIATE_CLASS(PointImageTerm);

}
