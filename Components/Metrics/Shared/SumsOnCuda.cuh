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

/// One block adds all partial sums, at most 1056 of 16 to 48 bytes each, in their order.
template <class Formula>
__global__ void __launch_bounds__(threads)
    finishSums(Formula formula, const PartialSums<Formula>* partials, unsigned count,
               typename Formula::Table* table, MetricResult* result)
{
  PartialSums<Formula> own;
  for (unsigned p = threadIdx.x; p < count; p += blockDim.x)
    own.add(partials[p]);
  own = sumOfBlock(own);
  if (threadIdx.x != 0)
    return;
  *table = formula.finish(own.sums, static_cast<std::size_t>(own.valid));
  *result = {formula.value(*table), static_cast<unsigned long long>(own.valid)};
}

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
  sums::finishSums<<<1, sums::threads, 0, cudaStreamOf(context)>>>(
      formula_, partials_.span().data(), partialCount_, table_.span().data(), result);
  checkLaunch("sum of partial sums");
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
