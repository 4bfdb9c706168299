#include "Components/Metrics/AdvancedKappaStatistic.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

namespace tessera {
namespace {

constexpr int kappaThreads = 128;

/// ComparisonOnCuda::compare, one sample x for each thread. Through the caches it reads the support of the
/// interpolated moving image and, for gradients, 2 D voxels of it. It writes 4 bytes, and 4 D for gradients.
template <int D, int Order>
__global__ void __launch_bounds__(kappaThreads) compareForegrounds(
    const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ AffineMap<D> before,
    const std::array<const float*, D> displacements, const __grid_constant__ MaskOnCuda<D> movingMask,
    const __grid_constant__ Foreground foreground, const __grid_constant__ InterpolatorOnCuda<D> image,
    const __grid_constant__ ForegroundEdges<D> edges, const __grid_constant__ GatherTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(kappaThreads) + threadIdx.x;
  const SampleOnCuda<D> sample = sampleOrNone(samples, i);
  float membership = NAN;
  Vec<D> edge{};
  if (sample.asked) {
    const Vec<D> mappedMm = mappedMmOf<D>(sample, before, displacements, i);
    const float fixed = samples.fixed != nullptr ? samples.fixed[i] : samples.image[sample.voxel];
    float moving, slope[D];
    if (!isnan(fixed) && movingMask.contains(mappedMm)
        && valueAt<D, Order>(image, mappedMm, false, moving, slope) && !isnan(moving)) {
      membership = KappaOfMemberships::membership(foreground.contains(fixed), foreground.contains(moving));
      if (target.gradientPerMm[0] != nullptr)
        edge = edges.at(image.pointToIndex(mappedMm), foreground);
    }
  }
  if (i < samples.count) {
    target.moving[i] = membership;
    if (target.gradientPerMm[0] != nullptr) {
#pragma unroll
      for (int d = 0; d < D; ++d)
        target.gradientPerMm[d][i] = static_cast<float>(edge[d]);
    }
  }
  addAsked(sample.asked, target.asked);
}

}

template <int D>
void ForegroundsOnCuda<D>::compare(Context& context, const SamplesOnCuda<D>& samples,
                                   const AffineMap<D>& before,
                                   const std::array<const float*, D>& displacements,
                                   const MaskOnCuda<D>& movingMask, const GatherTarget<D>& target) const
{
  if (samples.count == 0)
    return;
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, kappaThreads));
  withOrder(moving_.order, [&]<int Order>() {
    compareForegrounds<D, Order><<<blocks, kappaThreads, 0, cudaStreamOf(context)>>>(
        samples, before, displacements, movingMask, foreground_, moving_, edges_, target);
    checkLaunch("comparison of foregrounds");
  });
}

template class ForegroundsOnCuda<2>;
template class ForegroundsOnCuda<3>;
template class SumsOnCuda<KappaOfMemberships>;

}
