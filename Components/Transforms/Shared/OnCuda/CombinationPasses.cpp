#include "Components/Transforms/Shared/OnCuda/CombinationPasses.h"

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Components/Transforms/WeightedCombinationTransform.h"
#include "Core/Compute/Memory/MemoryCount.h"

#include <algorithm>
#include <utility>

namespace tessera {

template <int D>
HeldCombination<D>::HeldCombination(const Context& context, const TransformChain<D>& chain,
                                    const WeightedCombinationTransform<D>& transform)
    : transform_(&transform)
{
  const auto hold = [&](const TransformChain<D>& constant) {
    held_.push_back(HeldChainOnCuda<D>::constant(context, constant));
    return held_.back().before();
  };
  std::vector<ChainOnCuda<D>> transforms;
  for (const auto& combined : transform.transforms())
    transforms.push_back(hold(*combined));
  transforms_.fromHost(context, transforms);
  onCuda_.transforms = std::as_const(transforms_).span().data();
  onCuda_.count = static_cast<int>(transforms.size());
  if (!chain.initial)
    return;
  onCuda_.before = hold(*chain.initial);
  onCuda_.combination = chain.combination;
}

template <int D>
CombinationOnCuda<D> HeldCombination<D>::at(const Context& context, std::span<const double> weights)
{
  onCuda_.weights = weights.data();
  if (transform_->normalizes() && !onlyCountsMemory(context)) {
    std::vector<double> onHost(weights.size());
    context.stream->copyToHost(onHost.data(), weights.data(), weights.size_bytes());
    onCuda_.weightSum = transform_->divisor(onHost);
  }
  return onCuda_;
}

template <int D>
void CombinationPasses<D>::reserve(const Context& context, std::size_t samples, bool withGradient)
{
  const MemoryPart ofPoints(context, "transform");
  grown(context, points_, D * samples);
  if (!withGradient)
    return;
  const MemoryPart ofSums(context, "pull-back");
  const auto transforms = static_cast<std::size_t>(held_.count());
  grown(context, covectors_, 2 * D * std::min(samples, covectorsAtOnce));
  grown(context, scratch_, combinationScratch(transforms));
  grown(context, sums_, transforms);
}

template <int D>
void CombinationPasses<D>::gather(Context& context, const SamplesOnCuda<D>& samples,
                                  const MovingOnCuda<D>& moving, const GatherTarget<D>& target)
{
  double* const points = grown(context, points_, D * samples.count);
  mapCombinationOnCuda<D>(context, samples, chain_, {points, {}, target.fixed, target.asked});
  gatherMappedOnCuda<D>(context, points, samples.count, moving, target);
}

template <int D>
void CombinationPasses<D>::pullBack(Context& context, const SamplesOnCuda<D>& samples,
                                    const std::array<const float*, D>& covectors, const float* factors,
                                    std::span<double> gradient, const GradientUpdate& update)
{
  reserve(context, samples.count, true);
  ChainOnCuda<D> toCombination = chain_.before; // and a last transform that is not evaluated
  toCombination.links[toCombination.count++].combination = chain_.combination;
  double *points = covectors_.span().data(), *scratch = scratch_.span().data(), *sums = sums_.span().data();
  std::size_t first = 0;
  do {
    const std::size_t count = std::min(covectorsAtOnce, samples.count - first);
    double* const values = points + D * count;
    covectorsOnCuda<D>(context, samples, first, count, toCombination, covectors, factors, points, values);
    sumCombinationOnCuda<D>(context, chain_, count, points, values, scratch, sums, first == 0);
    first += count;
  } while (first < samples.count);
  combinationGradientOnCuda<D>(context, chain_, sums, gradient.data(), update);
}

TESSERA_INSTANTIATE_CLASS(HeldCombination);
TESSERA_INSTANTIATE_CLASS(CombinationPasses);

}
