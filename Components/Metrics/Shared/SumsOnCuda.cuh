#pragma once

#include "Components/Metrics/Shared/BlockSum.cuh"
#include "Components/Metrics/Shared/PairKernels.cuh"
#include "Components/Metrics/Shared/SumsOnCuda.h"

namespace tessera {
namespace sums {

constexpr int threads = 256;
constexpr int threadsOfSlopes = 128;
constexpr unsigned maxBlocksOfSlopes = 2112;

/// Each block writes one partial sum, to which it adds that of earlier calls if there is one. Reads 8 bytes a
/// sample.
template <class Formula>
__global__ void __launch_bounds__(threads)
    sumPairs(Formula formula, IntensityPairs pairs, PartialSums<Formula>* partials, unsigned alreadyThere)
{
  PartialSums<Formula> own;
  forEachPair(pairs, 1, [&](float fixed, float moving) {
    formula.accumulate(own.sums, fixed, moving);
    ++own.valid;
  });
  own = sumOfBlock(own);
  if (threadIdx.x != 0)
    return;
  if (blockIdx.x < alreadyThere) {
    PartialSums<Formula> sum = partials[blockIdx.x];
    sum.add(own);
    own = sum;
  }
  partials[blockIdx.x] = own;
}

/// One block adds the sums of all blocks, at most 1056 of 16 to 56 bytes each, in their order, and thread 0
/// does act(sums).
template <class Sums, class Act>
__global__ void __launch_bounds__(threads) sumBlocks(const Sums* ofBlocks, unsigned count, Act act)
{
  Sums own;
  for (unsigned b = threadIdx.x; b < count; b += blockDim.x)
    own.add(ofBlocks[b]);
  own = sumOfBlock(own);
  if (threadIdx.x == 0)
    act(own);
}

template <class Sums, class Act>
void addBlocks(Context& context, const Sums* ofBlocks, unsigned blocks, const Act& act)
{
  sumBlocks<<<1, threads, 0, cudaStreamOf(context)>>>(ofBlocks, blocks, act);
  checkLaunch("sum of the sums of blocks");
}

template <class Formula>
struct Finish {
  Formula formula;
  typename Formula::Table* table;
  MetricResult* result;

  __device__ void operator()(const PartialSums<Formula>& found) const
  {
    *table = formula.finish(found.sums, static_cast<std::size_t>(found.valid));
    *result = {formula.value(*table), static_cast<unsigned long long>(found.valid)};
  }
};

/// Computes the slopes; reads 8 bytes a sample and writes 4.
template <class Formula>
__global__ void __launch_bounds__(threadsOfSlopes)
    formulaSlopes(Formula formula, const typename Formula::Table* table, FourPairs pairs, float* slopes,
                  bool slopesAligned)
{
  const typename Formula::Table known = *table;
  const auto slopesOfFour = [&](const FourPairs::Four& loaded, float(&found)[4]) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const float fixed = loaded.fixed(s), moving = loaded.moving[s];
      found[s] = counts(fixed, moving) ? static_cast<float>(formula.slope(known, fixed, moving)) : 0;
    }
  };
  writeSlopes(pairs, slopesOfFour, slopes, slopesAligned);
}

}

template <class Formula>
void SumsOnCuda<Formula>::accumulate(Context& context, const IntensityPairs& pairs)
{
  if (pairs.count == 0)
    return;
  const unsigned blocks = blocksFor(pairs.count, sums::threads, sums::maxBlocks);
  sums::sumPairs<<<blocks, sums::threads, 0, cudaStreamOf(context)>>>(formula_, pairs,
                                                                      partials_.span().data(), partialCount_);
  checkLaunch("sums over pairs of intensities");
  partialCount_ = std::max(partialCount_, blocks);
}

template <class Formula>
void SumsOnCuda<Formula>::finish(Context& context, MetricResult* result)
{
  sums::addBlocks(context, partials_.span().data(), partialCount_,
                  sums::Finish<Formula>{formula_, table_.span().data(), result});
}

template <class Formula>
void SumsOnCuda<Formula>::slopes(Context& context, const IntensityPairs& pairs, float* slopes) const
{
  if (pairs.count == 0)
    return;
  const unsigned blocks =
      blocksFor(ceilDiv<std::size_t>(pairs.count, 4), sums::threadsOfSlopes, sums::maxBlocksOfSlopes);
  sums::formulaSlopes<<<blocks, sums::threadsOfSlopes, 0, cudaStreamOf(context)>>>(
      formula_, table_.span().data(), FourPairs(pairs), slopes, multipleOf16(slopes));
  checkLaunch("slopes of pairs of intensities");
}

}
