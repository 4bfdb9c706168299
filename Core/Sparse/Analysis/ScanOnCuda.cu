#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Analysis/TotalsOnHost.cuh"

namespace tessera {
namespace {

constexpr int scanThreads = 256, countsAThread = 8, countsABlock = scanThreads * countsAThread;

using Sum64 = unsigned long long;

/// The state that a block publishes: 0 for nothing yet, or one of these two bits together with a sum: that of
/// its own counts, or that of all counts up to the end of its own.
constexpr Sum64 sumMask = ~Sum64{0} >> 2, ownSum = Sum64{1} << 62, wholeSum = Sum64{2} << 62;

/// The sum over this lane and the lanes before it.
__device__ __forceinline__ Sum64 warpInclusive(Sum64 value)
{
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Sum64 before = __shfl_up_sync(~0u, value, distance);
    if (static_cast<int>(threadIdx.x % 32) >= distance)
      value += before;
  }
  return value;
}

/// The sum of all counts before a block's own, by a warp that looks back over what the blocks before have
/// published. Source: D. Merrill, M. Garland: Single-pass parallel prefix scan with decoupled look-back,
/// 2016.
__device__ Sum64 sumBefore(const volatile Sum64* published, unsigned block)
{
  const int lane = threadIdx.x % 32;
  Sum64 sum = 0;
  for (int last = static_cast<int>(block) - 1; last >= 0; last -= 32) {
    const int of = last - lane;
    Sum64 found = of >= 0 ? 0 : wholeSum;
    while (__any_sync(~0u, found == 0))
      if (found == 0)
        found = published[of];
    const unsigned whole = __ballot_sync(~0u, (found & wholeSum) != 0);
    const int nearest = whole != 0 ? __ffs(whole) - 1 : 31;
    sum += __shfl_sync(~0u, warpInclusive(lane <= nearest ? found & sumMask : 0), 31);
    if (whole != 0)
      break;
  }
  return sum;
}

/// Sums up counts from left to right in a single pass.
/// 1. A block draws a ticket, which says which part of the counts is its own. So every block before it has
/// begun.
/// 2. It sums up its counts and publishes their sum.
/// 3. It adds up what the blocks before have published, publishes the sum up to its own end, and writes the
/// starts. `state` holds the tickets and the published sums and is 0 before. The last block reports the sum
/// of all. Memory traffic: reads 4 bytes and writes sizeof(Sum) for each count.
template <class Sum>
__global__ void __launch_bounds__(scanThreads)
    scan(std::size_t count, const std::uint32_t* counts, Sum* starts, Sum64* state,
         const AnalysisTotals* totals, TotalsTarget target)
{
  __shared__ Sum64 sums[countsABlock + countsABlock / countsAThread]; // padded, so that the threads' parts
                                                                      // begin in different banks
  __shared__ Sum64 ofWarps[scanThreads / 32], before;
  __shared__ unsigned ticket;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  if (thread == 0)
    ticket = atomicAdd(reinterpret_cast<unsigned*>(state), 1u);
  __syncthreads();
  const unsigned block = ticket;
  const std::size_t first = block * std::size_t{countsABlock};
  const auto padded = [](int i) { return i + i / countsAThread; };
  for (int i = thread; i < countsABlock; i += scanThreads)
    sums[padded(i)] = first + i < count ? counts[first + i] : 0;
  __syncthreads();
  Sum64* const own = sums + padded(thread * countsAThread);
  Sum64 ofThread = 0;
#pragma unroll
  for (int i = 0; i < countsAThread; ++i) {
    const Sum64 one = own[i];
    own[i] = ofThread;
    ofThread += one;
  }
  const Sum64 inclusive = warpInclusive(ofThread);
  if (lane == 31)
    ofWarps[warp] = inclusive;
  __syncthreads();
  Sum64 beforeThread = inclusive - ofThread, all = 0;
  for (int w = 0; w < scanThreads / 32; ++w) {
    if (w < warp)
      beforeThread += ofWarps[w];
    all += ofWarps[w];
  }
  if (warp == 0) {
    volatile Sum64* const published = state + 1;
    if (lane == 0)
      published[block] = (block == 0 ? wholeSum : ownSum) | all;
    const Sum64 found = sumBefore(published, block);
    if (lane == 0) {
      if (block > 0)
        published[block] = wholeSum | (found + all);
      before = found;
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < countsAThread; ++i)
    own[i] += before + beforeThread;
  __syncthreads();
  for (int i = thread; i < countsABlock; i += scanThreads)
    if (first + i <= count)
      starts[first + i] = static_cast<Sum>(sums[padded(i)]);
  if (target.host && block == gridDim.x - 1)
    reportTotals(target, totals, before + all);
}

template <class Sum>
void scanCounts(const Context& context, std::size_t count, const std::uint32_t* counts, Sum* starts,
                Sum64* zeroedState, const AnalysisTotals* totals, const TotalsTarget& target)
{
  scan<<<static_cast<unsigned>(ceilDiv<std::size_t>(count + 1, countsABlock)), scanThreads, 0,
         cudaStreamOf(context)>>>(count, counts, starts, zeroedState, totals, target);
  checkLaunch("sums of counts");
}

template <class Sum>
void scanCounts(const Context& context, std::size_t count, const std::uint32_t* counts, Sum* starts)
{
  Buffer<Sum64> state(context, scanStateSize(count));
  context.stream->fill(state.span().data(), 0, state.size() * sizeof(Sum64));
  scanCounts(context, count, counts, starts, state.span().data(), nullptr, {});
}

}

void scanOnCuda(const Context& context, std::size_t count, const std::uint32_t* counts, std::uint64_t* starts)
{
  scanCounts(context, count, counts, starts);
}
void scanOnCuda(const Context& context, std::size_t count, const std::uint32_t* counts, std::uint32_t* starts)
{
  scanCounts(context, count, counts, starts);
}

void scanAndReportOnCuda(const Context& context, std::size_t rows, const ProductAnalysisOnCuda& analysis,
                         std::uint64_t* starts, const TotalsTarget& target)
{
  scanCounts(context, rows, analysis.rowCounts.data(), starts, analysis.scanState.data(), analysis.totals,
             target);
}

std::size_t scanStateSize(std::size_t count)
{
  return ceilDiv<std::size_t>(count + 1, countsABlock) + 1;
}

}
