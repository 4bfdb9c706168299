#include "Core/Registration/InterpolatorOnCuda.cuh"
#include "Core/Registration/SampleKernels.cuh"

#include <cmath>

namespace tessera {
namespace {

template <int D, int Order, bool WithGradient>
__global__ void gather(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ ChainOnCuda<D> chain,
                       const __grid_constant__ MovingOnCuda<D> moving, const __grid_constant__ GatherTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  bool asked = false;
  if (i < samples.count) {
    const SampleOnCuda<D> sample = sampleAt(samples, i);
    asked = sample.asked;
    float value = 0, gradient[D] = {};
    bool counts = false;
    if (asked) {
      const Vec<D> mappedMm = mapChain<D>(chain, sample.pointMm);
      counts = moving.mask.contains(mappedMm) && valueAt<D, Order>(moving.image, mappedMm, WithGradient, value, gradient);
    }
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
#pragma unroll
      for (int d = 0; d < D; ++d)
        target.gradientPerMm[d][i] = gradient[d];
    }
  }
  if (target.asked != nullptr) {
    const int ofBlock = __syncthreads_count(asked);
    if (threadIdx.x == 0 && ofBlock > 0)
      atomicAdd(target.asked, static_cast<unsigned long long>(ofBlock));
  }
}

template <int D, int Order>
void launch(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain, const MovingOnCuda<D>& moving,
            const GatherTarget<D>& target)
{
  const int threads = samples.count <= 16384 ? 32 : 256; // few samples: as many multiprocessors as there are
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads));
  if (target.gradientPerMm[0] != nullptr)
    gather<D, Order, true><<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, chain, moving, target);
  else
    gather<D, Order, false><<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, chain, moving, target);
  checkLaunch("gathering samples");
}

template <int D>
__global__ void addDisplacements(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ ChainOnCuda<D> before,
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

}

template <int D>
void gatherOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain, const MovingOnCuda<D>& moving,
                  const GatherTarget<D>& target)
{
  if (samples.count > 0)
    withOrder(moving.image.order, [&]<int Order>() { launch<D, Order>(context, samples, chain, moving, target); });
}

template <int D>
void addDisplacementsOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& before,
                            const std::array<float*, D>& field)
{
  constexpr int threads = 256;
  if (samples.count == 0)
    return;
  addDisplacements<D><<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads)), threads, 0, cudaStreamOf(context)>>>(
      samples, before, field);
  checkLaunch("displacements of a chain");
}

#define TESSERA_INSTANTIATE(D)                                                                                                     \
  template void gatherOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&, const MovingOnCuda<D>&,                  \
                                const GatherTarget<D>&);                                                                           \
  template void addDisplacementsOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&, const std::array<float*, D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
