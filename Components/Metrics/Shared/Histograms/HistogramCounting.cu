#include "Components/Metrics/Shared/Histograms/HistogramLaunch.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"

namespace tessera {

CountingLaunch HistogramOnCuda::countingLaunch(std::size_t pairs) const
{
  const int columns = lookup_.windows.moving.bins;
  CountingPlan plan =
      planCounting(pairs, lookup_.windows.fixed.bins, columns, multiprocessors_, sharedBytes_);
  plan = withThreads(plan, pairs, BlockThreads::orUsual(plan.threads));
  return {shapeOf(parzen::countInShared<0, 3, 3>, plan.blocks, plan.threads, plan.sharedBytes(columns)), plan,
          columns};
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
  parzen::withOrders(lookup_.windows, [&]<int Fixed, int Moving>() {
    if (plan.ranges == 0) {
      const unsigned blocks =
          blocksFor(pairs.count, threadsForGlobal, blocksAMultiprocessor * multiprocessors_);
      parzen::countInGlobal<Fixed, Moving><<<blocks, threadsForGlobal, 0, stream>>>(lookup_, pairs, to);
    } else {
      const std::size_t bytes = plan.sharedBytes(columns);
      const auto kernel = plan.gather            ? parzen::countInShared<Fixed, Moving, -1>
                          : plan.log2Copies == 5 ? parzen::countInShared<Fixed, Moving, 5>
                                                 : parzen::countInShared<Fixed, Moving, 3>;
      parzen::allowShared(kernel, bytes);
      kernel<<<plan.blocks, plan.threads, bytes, stream>>>(lookup_, FourPairs(pairs), plan, to);
    }
    checkLaunch("counting pairs of intensities");
  });
}

}
