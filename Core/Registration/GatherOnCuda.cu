#include "Core/Registration/InterpolatorOnCuda.cuh"
#include "Core/Registration/SampleKernels.cuh"

#include <cmath>

namespace tessera {
namespace {

/// T(x) by the chain.
template <int D>
struct ByChain {
  ChainOnCuda<D> chain;

  __device__ Vec<D> operator()(const Vec<D>& pointMm, std::size_t) const { return mapChain<D>(chain, pointMm); }
};

/// T(x) = T0(x) + u, u from arrays.
template <int D>
struct AlongField {
  ChainOnCuda<D> before;
  std::array<const float*, D> field;

  __device__ Vec<D> operator()(const Vec<D>& pointMm, std::size_t i) const
  {
    Vec<D> mapped = mapChain<D>(before, pointMm);
#pragma unroll
    for (int d = 0; d < D; ++d)
      mapped[d] += field[d][i];
    return mapped;
  }
};

template <int D, int Order, bool WithGradient, class Map>
__global__ void gather(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ Map map,
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
      const Vec<D> mappedMm = map(sample.pointMm, i);
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

template <int D, int Order, class Map>
void launch(Context& context, const SamplesOnCuda<D>& samples, const Map& map, const MovingOnCuda<D>& moving,
            const GatherTarget<D>& target)
{
  const int threads = samples.count <= 16384 ? 32 : 256; // few samples: as many multiprocessors as there are
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads));
  if (target.gradientPerMm[0] != nullptr)
    gather<D, Order, true><<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, map, moving, target);
  else
    gather<D, Order, false><<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, map, moving, target);
  checkLaunch("gathering samples");
}

template <int D, class Map>
void chooseOrder(Context& context, const SamplesOnCuda<D>& samples, const Map& map, const MovingOnCuda<D>& moving,
                 const GatherTarget<D>& target)
{
  if (samples.count == 0)
    return;
  withOrder(moving.image.order, [&]<int Order>() { launch<D, Order>(context, samples, map, moving, target); });
}

}

template <int D>
void gatherOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain, const MovingOnCuda<D>& moving,
                  const GatherTarget<D>& target)
{
  chooseOrder(context, samples, ByChain<D>{chain}, moving, target);
}

template <int D>
void gatherAlongFieldOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& before,
                            const std::array<const float*, D>& field, const MovingOnCuda<D>& moving, const GatherTarget<D>& target)
{
  chooseOrder(context, samples, AlongField<D>{before, field}, moving, target);
}

#define TESSERA_INSTANTIATE(D)                                                                                                     \
  template void gatherOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&, const MovingOnCuda<D>&,                  \
                                const GatherTarget<D>&);                                                                           \
  template void gatherAlongFieldOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,                                \
                                          const std::array<const float*, D>&, const MovingOnCuda<D>&, const GatherTarget<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
