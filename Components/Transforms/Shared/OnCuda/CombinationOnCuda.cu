#include "Components/Transforms/Shared/OnCuda/CombinationOnCuda.h"

#include "Components/Transforms/Shared/OnCuda/MapSamples.cuh"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threadsOfBlock = 128;

/// T(x).
template <int D>
struct MapByCombination {
  CombinationOnCuda<D> chain;

  __device__ Vec<D> operator()(const Vec<D>& pointMm) const
  {
    const Vec<D> beforeMm = mapChain<D>(chain.before, pointMm);
    const Vec<D> atMm = chain.combination == Combination::compose ? beforeMm : pointMm;
    Vec<D> displacementMm{};
    for (int t = 0; t < chain.count; ++t) {
      const Vec<D> ofTransform = mapChain<D>(chain.transforms[t], atMm);
      const double share = chain.share(t);
#pragma unroll
      for (int d = 0; d < D; ++d)
        displacementMm[d] += share * (ofTransform[d] - atMm[d]);
    }
    Vec<D> mappedMm;
#pragma unroll
    for (int d = 0; d < D; ++d)
      mappedMm[d] = beforeMm[d] + displacementMm[d];
    return mappedMm;
  }
};

/// Each block sums up its samples for transform blockIdx.y.
template <int D>
__global__ void __launch_bounds__(threadsOfBlock)
    sumBlock(const ChainOnCuda<D>* transforms, std::size_t count, const double* points,
             const double* covectors, double* partials)
{
  const ChainOnCuda<D>& transform = transforms[blockIdx.y];
  double sum = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(threadsOfBlock) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * threadsOfBlock) {
    Vec<D> pointMm;
#pragma unroll
    for (int d = 0; d < D; ++d)
      pointMm[d] = points[d * count + i];
    if (isnan(pointMm[0]))
      continue;
    const Vec<D> mappedMm = mapChain<D>(transform, pointMm);
#pragma unroll
    for (int d = 0; d < D; ++d)
      sum = fma(covectors[d * count + i], mappedMm[d] - pointMm[d], sum);
  }
  const double total = blockSum<threadsOfBlock>(sum);
  if (threadIdx.x == 0)
    partials[blockIdx.y * static_cast<std::size_t>(gridDim.x) + blockIdx.x] = total;
}

/// A warp for each transform.
__global__ void addBlocks(int blocks, bool overwrites, const double* partials, double* sums)
{
  double sum = 0;
  for (int block = static_cast<int>(threadIdx.x); block < blocks; block += 32)
    sum += partials[static_cast<std::size_t>(blockIdx.x) * blocks + block];
  sum = warpSum(sum);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = overwrites ? sum : sums[blockIdx.x] + sum;
}

/// A single block.
template <int D>
__global__ void __launch_bounds__(threadsOfBlock)
    gradientOf(const __grid_constant__ CombinationOnCuda<D> chain, const double* sums,
               const GradientUpdate update, double* gradient)
{
  const bool normalizes = chain.weightSum != 0;
  const double n = normalizes ? chain.weightSum : 1;
  const double factor = update.divisor == nullptr ? 1 : *update.divisor == 0 ? 0 : 1 / *update.divisor;
  double mean = 0;
  for (int j = 0; j < chain.count && normalizes; ++j)
    mean += chain.share(j) * sums[j];
  for (int i = static_cast<int>(threadIdx.x); i < chain.count; i += threadsOfBlock)
    gradient[i] = ((update.overwrites ? 0 : gradient[i]) + (sums[i] - mean) / n) * factor;
}

}

template <int D>
void mapCombinationOnCuda(Context& context, const SamplesOnCuda<D>& samples,
                          const CombinationOnCuda<D>& chain, const MappedTarget<D>& target)
{
  mapSamples<D>(context, samples, MapByCombination<D>{chain}, target);
}

template <int D>
void sumCombinationOnCuda(Context& context, const CombinationOnCuda<D>& chain, std::size_t count,
                          const double* points, const double* covectors, double* scratch, double* sums,
                          bool overwrites)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const auto blocks =
      static_cast<unsigned>(std::min(ceilDiv<std::size_t>(count, threadsOfBlock), maxCombinationBlocks));
  const auto transforms = static_cast<unsigned>(chain.count);
  if (blocks > 0) {
    sumBlock<D><<<dim3(blocks, transforms), threadsOfBlock, 0, stream>>>(chain.transforms, count, points,
                                                                         covectors, scratch);
    checkLaunch("sums over combined transforms");
  }
  addBlocks<<<transforms, 32, 0, stream>>>(static_cast<int>(blocks), overwrites, scratch, sums);
  checkLaunch("sums over combined transforms");
}

template <int D>
void combinationGradientOnCuda(Context& context, const CombinationOnCuda<D>& chain, const double* sums,
                               double* gradient, const GradientUpdate& update)
{
  gradientOf<D><<<1, threadsOfBlock, 0, cudaStreamOf(context)>>>(chain, sums, update, gradient);
  checkLaunch("gradient of a combination");
}

TESSERA_INSTANTIATE_FUNCTIONS(mapCombinationOnCuda<D>, sumCombinationOnCuda<D>, combinationGradientOnCuda<D>);

}
