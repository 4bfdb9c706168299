#include "Components/Metrics/Shared/MeanOverSamples.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

/// Drops the points that T maps outside of the moving mask.
template <int D>
void keepInMovingMask(Context& context, const TransformChain<D>& chain, const Mask<D>& mask,
                      PointBatch<D>& points, std::vector<float>& fixed)
{
  thread_local PointBatch<D> mapped;
  mapChain<D>(context, chain, points.list(), mapped.out());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.count; ++i) {
    Vec<D> mappedMm;
    for (int d = 0; d < D; ++d) {
      mappedMm[d] = mapped.mm[d][i];
      points.mm[d][kept] = points.mm[d][i];
    }
    fixed[kept] = fixed[i];
    kept += mask.contains(mappedMm);
  }
  points.count = kept;
}

}

template <int D>
TermValue MeanOverSamples<D>::evaluate(Context& context, const SampleSet<D>& samples,
                                       const TransformChain<D>& chain, const Mask<D>* movingMask,
                                       std::span<double> gradient, const BatchSum& batchSum)
{
  const ImageBatchSum withoutImages = [&](Context& oneThread, const TransformChain<D>& ofChain,
                                          const ListSamples<D>& points, const float*,
                                          std::span<double> ofBatch) {
    return ImageSum{batchSum(oneThread, ofChain, points, ofBatch), points.count};
  };
  return evaluate(context, samples, chain, movingMask, gradient, withoutImages);
}

template <int D>
TermValue MeanOverSamples<D>::evaluate(Context& context, const SampleSet<D>& samples,
                                       const TransformChain<D>& chain, const Mask<D>* movingMask,
                                       std::span<double> gradient, const ImageBatchSum& batchSum)
{
  const StripePlan plan = planStripes(positionCount<D>(samples), chain.parameters.size());
  sums_.assign(plan.stripes, {});
  stripedGradient_.begin(gradient, plan.stripes);
  forEachChunk(context, plan.stripes, [&](std::size_t stripe) {
    const std::span<double> own = gradient.empty() ? gradient : stripedGradient_.clearedStripe(stripe);
    sums_[stripe] =
        sumStripe(samples, chain, movingMask, plan.first(stripe), plan.last(stripe), own, batchSum);
  });

  TermValue result;
  for (const StripeSum& sum : sums_) {
    result.value += sum.value;
    result.asked += sum.count.asked;
    result.valid += sum.count.valid;
  }
  const double perSample = result.valid == 0 ? 0 : 1 / static_cast<double>(result.valid);
  result.value *= perSample;
  stripedGradient_.sum(context, perSample);
  return result;
}

template <int D>
typename MeanOverSamples<D>::StripeSum
MeanOverSamples<D>::sumStripe(const SampleSet<D>& samples, const TransformChain<D>& chain,
                              const Mask<D>* movingMask, std::size_t first, std::size_t last,
                              std::span<double> gradient, const ImageBatchSum& batchSum)
{
  thread_local PointBatch<D> points;
  thread_local std::vector<float> fixed(batchCapacity);
  Context oneThread;
  StripeSum sum;
  for (; first < last; first += samplesAtOnce) {
    fillBatch<D>(samples, first, std::min(first + samplesAtOnce, last), points, fixed.data());
    sum.count.asked += points.count;
    if (movingMask)
      keepInMovingMask<D>(oneThread, chain, *movingMask, points, fixed);
    if (points.count == 0)
      continue;
    const ImageSum ofBatch = batchSum(oneThread, chain, points.list(), fixed.data(), gradient);
    sum.value += ofBatch.value;
    sum.count.valid += ofBatch.valid;
  }
  return sum;
}

TESSERA_INSTANTIATE_CLASS_TO_4(MeanOverSamples);

}
