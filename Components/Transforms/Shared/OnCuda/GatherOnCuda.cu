#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Components/Transforms/Shared/OnCuda/ChainLaunches.h"
#include "Components/Transforms/Shared/OnCuda/MapSamples.cuh"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// Pass 1 of a term, one sample x a thread.
///
///   y = T(x), by all transforms of the chain
///   m = moving image at y; the sample counts if y lies in the moving image and its mask
///   moving[i] = m, or NaN if the sample does not count
///   gradientPerMm[.][i] = gradientMatrix * gradient of the moving image at y, or 0
template <int D, int Order, bool WithGradient>
__global__ void
gather(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ ChainOnCuda<D> chain,
       const __grid_constant__ MovingOnCuda<D> moving, const __grid_constant__ GatherTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const bool exists = i < samples.count;
  const SampleOnCuda<D> sample = sampleOrNone(samples, i);
  const Vec<D> mappedMm = sample.asked ? mapChain<D>(chain, sample.pointMm) : sample.pointMm;
  if (exists) {
    float value = 0, gradient[D] = {};
    const bool counts = sample.asked && moving.mask.contains(mappedMm)
                        && valueAt<D, Order>(moving.image, mappedMm, WithGradient, value, gradient);
    target.moving[i] = counts ? value : NAN;
    if (target.fixed != nullptr)
      target.fixed[i] = __ldg(samples.image + sample.voxel);
    if constexpr (WithGradient) {
      if (moving.turnsGradient) {
        Vec<D> g;
#pragma unroll
        for (int d = 0; d < D; ++d)
          g[d] = gradient[d];
        g = apply<D>(moving.gradientMatrix, g);
#pragma unroll
        for (int d = 0; d < D; ++d)
          gradient[d] = static_cast<float>(g[d]);
      }
      // The product of slope 0 and gradient NaN would be NaN.
#pragma unroll
      for (int d = 0; d < D; ++d)
        target.gradientPerMm[d][i] = counts && value == value ? gradient[d] : 0;
    }
  }
  addAsked(sample.asked, target.asked);
}

template <int D, int Order>
void launch(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
            const MovingOnCuda<D>& moving, const GatherTarget<D>& target)
{
  // Few samples go in small blocks, which spread them over the multiprocessors.
  const int threads = samples.count > 16384 ? 256 : 32;
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads));
  const auto kernel = target.gradientPerMm[0] != nullptr ? gather<D, Order, true> : gather<D, Order, false>;
  kernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, chain, moving, target);
  checkLaunch("gathering samples");
}

/// The most threads of a block, which need nearly all registers.
constexpr int threadsOfAdding = 256;

int blockThreadsOfAdding()
{
  constexpr int usual = 128; // with 256 a spline of 64 landmarks takes 3 % longer on an H100
  return std::clamp(BlockThreads::orUsual(usual), 32, threadsOfAdding);
}

template <int D>
__global__ void addDisplacements(const __grid_constant__ SamplesOnCuda<D> samples,
                                 const __grid_constant__ ChainOnCuda<D> before,
                                 const std::array<float*, D> field)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= samples.count)
    return;
  const Vec<D> pointMm = sampleAt(samples, i).pointMm, mappedMm = mapChain<D>(before, pointMm);
#pragma unroll
  for (int d = 0; d < D; ++d)
    field[d][i] += static_cast<float>(mappedMm[d] - pointMm[d]);
}

template <int D>
struct MapByChain {
  ChainOnCuda<D> chain;

  __device__ Vec<D> operator()(const Vec<D>& pointMm) const { return mapChain<D>(chain, pointMm); }
};

}

LaunchShape addDisplacementsShape(std::size_t samples)
{
  const int threads = blockThreadsOfAdding();
  return shapeOf(addDisplacements<3>, std::ceil(static_cast<double>(samples) / threads), threads);
}

template <int D>
void gatherOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
                  const MovingOnCuda<D>& moving, const GatherTarget<D>& target)
{
  if (samples.count > 0)
    withOrder(moving.image.order,
              [&]<int Order>() { launch<D, Order>(context, samples, chain, moving, target); });
}

template <int D>
void mapSamplesOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
                      const MappedTarget<D>& target)
{
  mapSamples<D>(context, samples, MapByChain<D>{chain}, target);
}

template <int D>
void addDisplacementsOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& before,
                            const std::array<float*, D>& field)
{
  const int threads = blockThreadsOfAdding();
  if (samples.count == 0)
    return;
  addDisplacements<D><<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads)), threads, 0,
                        cudaStreamOf(context)>>>(samples, before, field);
  checkLaunch("displacements of a chain");
}

TESSERA_INSTANTIATE_FUNCTIONS(gatherOnCuda<D>, mapSamplesOnCuda<D>, addDisplacementsOnCuda<D>);

}
