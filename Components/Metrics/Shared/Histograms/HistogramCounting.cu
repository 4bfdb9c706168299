#include "Components/Metrics/Shared/Histograms/HistogramLaunch.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"

namespace tessera {

KeptFixedBins HistogramOnCuda::keptFor(const IntensityPairs& pairs) const
{
  if (!pairs.fixedStays || kept_ != FixedSide{pairs.fixed, pairs.count})
    return {};
  return {keptWords_.span().data(), isWide()};
}

void HistogramOnCuda::keepFixedBins(Context& context, const IntensityPairs& pairs)
{
  const FixedSide now{pairs.fixed, pairs.count};
  const bool again = pairs.fixedStays && last_ == now;
  last_ = pairs.fixedStays ? now : FixedSide{};
  if (!again || kept_ == now || !reserveFixedBins(context, pairs.count))
    return;
  constexpr int threads = 256, blocksAMultiprocessor = 8;
  const std::size_t fours = ceilDiv<std::size_t>(pairs.count, 4);
  kept_ = {};
  std::uint32_t* const words = keptWords_.span().data();
  parzen::keepFixedBins<<<blocksFor(fours, threads, blocksAMultiprocessor * multiprocessors_), threads, 0,
                          cudaStreamOf(context)>>>(lookup_, FourPairs(pairs), isWide(), words);
  checkLaunch("bins of fixed intensities");
  kept_ = now;
}

CountingLaunch HistogramOnCuda::countingLaunch(std::size_t pairs) const
{
  const int columns = lookup_.windows.moving.bins;
  CountingPlan plan =
      planCounting(pairs, lookup_.windows.fixed.bins, columns, multiprocessors_, sharedBytes_);
  plan = withThreads(plan, pairs, BlockThreads::orUsual(plan.threads));
  return {shapeOf(parzen::countInShared<0, 3, 3, FourPairs>, plan.blocks, plan.threads,
                  plan.sharedBytes(columns)),
          plan, columns};
}

void HistogramOnCuda::accumulate(Context& context, const IntensityPairs& pairs)
{
  if (pairs.count == 0)
    return;
  constexpr int threadsForGlobal = 128, blocksAMultiprocessor = 16;
  const int rows = lookup_.windows.fixed.bins, columns = lookup_.windows.moving.bins;
  CountingPlan plan = planCounting(pairs.count, rows, columns, multiprocessors_, sharedBytes_);
  if (plan.ranges > 0)
    plan = withThreads(plan, pairs.count, BlockThreads::orUsual(plan.threads));
  const CountsOnCuda to{counts_.span().data(), counts_.span().data() + bins()};
  const cudaStream_t stream = cudaStreamOf(context);
  keepFixedBins(context, pairs);
  const KeptFixedBins kept = keptFor(pairs);
  parzen::withOrders(lookup_.windows, [&]<int Fixed, int Moving>() {
    const auto countIn = [&]<class Pairs>(const Pairs& fours) {
      const std::size_t bytes = plan.sharedBytes(columns);
      const auto kernel = plan.gather            ? parzen::countInShared<Fixed, Moving, -1, Pairs>
                          : plan.log2Copies == 5 ? parzen::countInShared<Fixed, Moving, 5, Pairs>
                                                 : parzen::countInShared<Fixed, Moving, 3, Pairs>;
      parzen::allowShared(kernel, bytes);
      kernel<<<plan.blocks, plan.threads, bytes, stream>>>(lookup_, fours, plan, to);
    };
    if (plan.ranges == 0) {
      const unsigned blocks =
          blocksFor(pairs.count, threadsForGlobal, blocksAMultiprocessor * multiprocessors_);
      parzen::countInGlobal<Fixed, Moving><<<blocks, threadsForGlobal, 0, stream>>>(lookup_, pairs, to);
    } else if (Fixed > 0 || kept.words == nullptr) {
      countIn(FourPairs(pairs));
    } else if constexpr (Fixed == 0) {
      kept.wide ? countIn(KeptPairs<true>(pairs, kept)) : countIn(KeptPairs<false>(pairs, kept));
    }
    checkLaunch("counting pairs of intensities");
  });
}

}
