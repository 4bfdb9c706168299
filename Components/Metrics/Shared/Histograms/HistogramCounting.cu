#include "Components/Metrics/Shared/Histograms/HistogramLaunch.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Core/Compute/Performance/BlockThreads.h"
#include "Core/Compute/Performance/LaunchShape.cuh"

#include <cmath>

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

/// A thread takes 222 instructions for four pairs: 66 find the bins, 15 load the next four, and 119 compute
/// 16 weights and add them. Clearing takes 5 for 32 words, and emptying 58 for 32 bins. With 8 copies of each
/// bin the lanes of an addition lie in 8 groups of 4, which meet in one of 4 banks. All blocks empty the same
/// bins at the same time.
KernelLaunch HistogramOnCuda::countingLaunch(std::size_t pairs) const
{
  constexpr double warpBytes = 128, meetings = 2.8;
  const int columns = lookup_.windows.moving.bins;
  CountingPlan plan =
      planCounting(pairs, lookup_.windows.fixed.bins, columns, multiprocessors_, sharedBytes_);
  plan = withThreads(plan, pairs, BlockThreads::orUsual(plan.threads));
  const double perWarp = 1.0 * plan.rows * columns / plan.threads, copies = 1 << plan.log2Copies,
               flushes = std::ceil(1.0 * plan.rounds / std::max(1u, plan.roundsBetweenFlushes));
  KernelCost round;
  round.issueSlots = 222;
  round.fp32 = 72 + 30;
  round.fp64 = 8;
  round.special = 8;
  round.integer = 56;
  round.globalInstructions = 2;
  round.l1Wavefronts = 8;
  round.sharedInstructions = 16;
  round.sharedAtomics = 16 * meetings;
  round.l2Sectors = 32;
  round.dramReadBytes = 8 * warpBytes;
  // The next pairs are on their way while these are counted, and take longer.
  round.chain = {{LatencyClass::cycle, 117}, {LatencyClass::constant, 2}, {LatencyClass::dram, 2, 2}};
  KernelCost clear;
  clear.issueSlots = 127 + 5 * copies * perWarp;
  clear.fp32 = 44 + 2 * copies * perWarp;
  clear.special = 6;
  clear.integer = 37 + copies * perWarp;
  clear.globalInstructions = clear.l1Wavefronts = 15; // the numbers of the windows
  clear.sharedInstructions = clear.sharedWavefronts = copies * perWarp;
  clear.barriers = 1;
  clear.chain = {{LatencyClass::cycle, 310 + 31 * copies * perWarp},
                 {LatencyClass::special, 4},
                 {LatencyClass::constant, 4},
                 {LatencyClass::barrier, 1}};
  KernelCost flush;
  flush.issueSlots = 30 + 58 * perWarp;
  flush.fp32 = 5 * perWarp;
  flush.integer = 20 + 32 * perWarp;
  flush.globalInstructions = perWarp;
  flush.sharedInstructions = flush.sharedWavefronts = 2 * copies * perWarp;
  flush.meetingSectors = flush.l2Sectors = 8 * perWarp;
  flush.barriers = 1;
  flush.chain = {{LatencyClass::cycle, 130 + 167 * perWarp},
                 {LatencyClass::shared, perWarp},
                 {LatencyClass::constant, 1},
                 {LatencyClass::barrier, 1}};
  KernelCost count, empty;
  count.add(plan.rounds, round);
  empty.add(flushes, flush);
  return {"histogram",
          {clear, count, empty},
          shapeOf(parzen::countInShared<0, 3, 3, FourPairs>, plan.blocks, plan.threads,
                  plan.sharedBytes(columns))};
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
