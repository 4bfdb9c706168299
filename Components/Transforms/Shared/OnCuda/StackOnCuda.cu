#include "Components/Transforms/Shared/OnCuda/StackOnCuda.h"

#include "Components/Transforms/Shared/OnCuda/MapSamples.cuh"
#include "Components/Transforms/Shared/OnCuda/PullBack.cuh"
#include "Core/Compute/Math/WithConstant.h"

#include <algorithm>

namespace tessera {
namespace {

/// The place in its slice after the first `links` of a chain of stacks.
template <int D>
__device__ Vec<D - 1> mapInSlice(const StackChainOnCuda<D>& chain, int links, const Vec<D>& pointMm)
{
  Vec<D - 1> inSliceMm;
#pragma unroll
  for (int d = 0; d < D - 1; ++d)
    inSliceMm[d] = pointMm[d];
  return mapLinks<D - 1>(
      links, [&](int link) { return chain.links[link].at(chain.links[link].timeOf(pointMm)); }, inSliceMm);
}

/// The place at which the last stack is evaluated.
template <int D>
__device__ Vec<D - 1> mapToLastInSlice(const StackChainOnCuda<D>& chain, const Vec<D>& pointMm)
{
  const bool composes = chain.links[chain.count - 1].slice.combination == Combination::compose;
  return mapInSlice<D>(chain, composes ? chain.count - 1 : 0, pointMm);
}

template <int D>
struct MapByStacks {
  StackChainOnCuda<D> chain;

  __device__ Vec<D> operator()(const Vec<D>& pointMm) const
  {
    const Vec<D - 1> inSliceMm = mapInSlice<D>(chain, chain.count, pointMm);
    Vec<D> mappedMm = pointMm; // whose time stays
#pragma unroll
    for (int d = 0; d < D - 1; ++d)
      mappedMm[d] = inSliceMm[d];
    return mappedMm;
  }
};

/// Each warp takes one sample.
template <int D, int Order>
__global__ void scatterInSlices(const __grid_constant__ SamplesOnCuda<D> samples,
                                const __grid_constant__ StackChainOnCuda<D> chain,
                                const __grid_constant__ FactoredCovectors<D> covectors,
                                const CovectorBound bound, unsigned long long* sums)
{
  const std::size_t i = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (i >= samples.count)
    return;
  float v[D], inSlice[D - 1];
  if (!covectors.at(i, v))
    return;
#pragma unroll
  for (int d = 0; d < D - 1; ++d)
    inSlice[d] = v[d];
  const StackOnCuda<D>& last = chain.links[chain.count - 1];
  const Vec<D> pointMm = sampleAt(samples, i).pointMm;
  scatterCovector<D - 1, Order>(last.slice, mapToLastInSlice<D>(chain, pointMm), inSlice, bound,
                                sums + last.timeOf(pointMm) * last.each);
}

/// The moments of the covectors of one time, blockIdx.y.
template <int D>
__global__ void __launch_bounds__(momentThreads)
    momentsOfTime(const __grid_constant__ SamplesOnCuda<D> samples,
                  const __grid_constant__ StackChainOnCuda<D> chain,
                  const __grid_constant__ FactoredCovectors<D> covectors, double* partials)
{
  const StackOnCuda<D>& last = chain.links[chain.count - 1];
  writeMoments<D - 1, D>(
      samples.count, last.slice.centerMm,
      [&](std::size_t i, float(&v)[D], Vec<D - 1>& inSliceMm) {
        const Vec<D> pointMm = sampleAt(samples, i).pointMm;
        if (last.timeOf(pointMm) != static_cast<int>(blockIdx.y) || !covectors.at(i, v))
          return false;
        inSliceMm = mapToLastInSlice<D>(chain, pointMm);
        return true;
      },
      partials);
}

/// A block for each time, and a thread for each of its parameters: LinearTransform::pullBackMoments.
template <int D>
__global__ void gradientOfTime(const __grid_constant__ StackOnCuda<D> stack, int blocks,
                               const double* partials, const GradientUpdate update, double* gradient)
{
  constexpr int S = D - 1, sums = S + S * S;
  const std::size_t parameter = blockIdx.x * stack.each + threadIdx.x;
  const AffineMap<S> derivative = stack.derivatives[parameter];
  double total = 0;
#pragma unroll
  for (int s = 0; s < sums; ++s) {
    double moment = 0;
    for (int block = 0; block < blocks; ++block)
      moment += partials[(blockIdx.x * static_cast<std::size_t>(sums) + s) * blocks + block];
    total += moment * (s < S ? derivative.offset[s] : derivative.matrix[(s - S) / S][(s - S) % S]);
  }
  const double factor = update.divisor == nullptr ? 1 : *update.divisor == 0 ? 0 : 1 / *update.divisor;
  gradient[parameter] = ((update.overwrites ? 0 : gradient[parameter]) + total) * factor;
}

}

template <int D>
void mapStacksOnCuda(Context& context, const SamplesOnCuda<D>& samples, const StackChainOnCuda<D>& chain,
                     const MappedTarget<D>& target)
{
  mapSamples<D>(context, samples, MapByStacks<D>{chain}, target);
}

template <int D>
void pullBackLinearStackOnCuda(Context& context, const SamplesOnCuda<D>& samples,
                               const StackChainOnCuda<D>& chain, const std::array<const float*, D>& covectors,
                               const float* factors, double* scratch, double* gradient,
                               const GradientUpdate& update)
{
  constexpr std::size_t samplesOfBlock = 8 * momentThreads;
  const StackOnCuda<D>& last = chain.links[chain.count - 1];
  const cudaStream_t stream = cudaStreamOf(context);
  const auto times = static_cast<unsigned>(last.times.count);
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::size_t>(ceilDiv(samples.count, samplesOfBlock), 1, momentBlocksOfTime));
  momentsOfTime<D><<<dim3(blocks, times), momentThreads, 0, stream>>>(
      samples, chain, FactoredCovectors<D>{covectors, factors}, scratch);
  gradientOfTime<D><<<times, static_cast<unsigned>(last.each), 0, stream>>>(last, static_cast<int>(blocks),
                                                                            scratch, update, gradient);
  checkLaunch("pull-back of a stack");
}

template <int D>
void pullBackBSplineStackOnCuda(Context& context, const SamplesOnCuda<D>& samples,
                                const StackChainOnCuda<D>& chain,
                                const std::array<const float*, D>& covectors, const float* factors,
                                unsigned long long* sums, unsigned* largest, double* gradient,
                                const GradientUpdate& update)
{
  if (samples.count == 0)
    return;
  const StackOnCuda<D>& last = chain.links[chain.count - 1];
  const cudaStream_t stream = cudaStreamOf(context);
  const FactoredCovectors<D> from{covectors, factors};
  findLargest<D>(stream, samples.count, from, largest);
  const int threads = blockThreadsOfScatter(context, samples.count);
  const auto kernel =
      withConstant<1, 3>(last.slice.order, [&]<int Order>() { return scatterInSlices<D, Order>; });
  const CovectorBound bound{largest, samples.count};
  kernel<<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads / 32)), threads, 0, stream>>>(
      samples, chain, from, bound, sums);
  checkLaunch("pull-back of a stack");
  addFixedPointSums(stream, static_cast<std::size_t>(last.times.count) * last.each, bound, update, sums,
                    gradient);
}

TESSERA_INSTANTIATE_FUNCTIONS(mapStacksOnCuda<D + 1>, pullBackLinearStackOnCuda<D + 1>,
                              pullBackBSplineStackOnCuda<D + 1>);

}
