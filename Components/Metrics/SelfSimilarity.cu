#include "Components/Metrics/Shared/Descriptors/SelfSimilarityOnCuda.h"

#include "Components/Metrics/Shared/Descriptors/DescriptorKernels.cuh"
#include "Components/Metrics/Shared/SumsOnCuda.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

namespace tessera {
namespace {

constexpr int threads = 128;

/// ComparisonOnCuda::compare, one sample x for each thread. Through the caches it reads the descriptors
/// around T(x), 4 in 2D and 8 in 3D, and one of the fixed image (as many for a list of points). It writes 4
/// bytes, and 4 D for gradients.
template <int D, bool WithGradient>
__global__ void __launch_bounds__(threads)
    compareDescriptors(const __grid_constant__ SamplesOnCuda<D> samples,
                       const __grid_constant__ AffineMap<D> before,
                       const std::array<const float*, D> displacements,
                       const __grid_constant__ MaskOnCuda<D> movingMask,
                       const __grid_constant__ DescriptorOnCuda<D> fixed,
                       const __grid_constant__ DescriptorOnCuda<D> moving,
                       const __grid_constant__ GatherTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  const SampleOnCuda<D> sample = sampleOrNone(samples, i);
  float number = NAN, gradient[D] = {};
  if (sample.asked) {
    const Vec<D> mappedMm = mappedMmOf<D>(sample, before, displacements, i);
    DescriptorCell<D> cell;
    bool counts = movingMask.contains(mappedMm);
    DescriptorChannels<D> ofFixed;
    if (samples.isList()) {
      counts = cell.setTo(fixed.size, fixed.indexFromPoint(sample.pointMm)) && counts;
      if (counts)
        ofFixed = interpolated<D>(fixed.values, DescriptorPlace<D>(cell));
    } else
      ofFixed = numbersOf<D>(fixed.values, sample.voxel);
    counts = cell.setTo(moving.size, moving.indexFromPoint(mappedMm)) && counts;
    if (counts) {
      const DescriptorPlace<D> place(cell);
      DescriptorChannels<D> difference = interpolated<D>(moving.values, place);
      number = takeDifference<D>(difference, ofFixed) / SelfSimilarityDescriptor<D>::channels;
      if constexpr (WithGradient) {
        const Vec<D> byIndex = slopeOf<D>(moving.values, place, difference);
#pragma unroll
        for (int d = 0; d < D; ++d) {
          double sum = 0;
#pragma unroll
          for (int e = 0; e < D; ++e)
            sum += factorOfSlope<D>() * byIndex[e] * moving.indexFromPoint.matrix[e][d];
          gradient[d] = static_cast<float>(sum);
        }
      }
    }
  }
  if (i < samples.count) {
    target.moving[i] = number;
    if constexpr (WithGradient) {
#pragma unroll
      for (int d = 0; d < D; ++d)
        target.gradientPerMm[d][i] = gradient[d];
    }
  }
  addAsked(sample.asked, target.asked);
}

}

template <int D>
void SelfSimilarityOnCuda<D>::compare(Context& context, const SamplesOnCuda<D>& samples,
                                      const AffineMap<D>& before,
                                      const std::array<const float*, D>& displacements,
                                      const MaskOnCuda<D>& movingMask, const GatherTarget<D>& target) const
{
  if (samples.count == 0)
    return;
  const auto kernel =
      target.gradientPerMm[0] != nullptr ? compareDescriptors<D, true> : compareDescriptors<D, false>;
  kernel<<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads)), threads, 0,
           cudaStreamOf(context)>>>(samples, before, displacements, movingMask, fixed_, moving_, target);
  checkLaunch("comparison of self-similarities");
}

template class SelfSimilarityOnCuda<2>;
template class SelfSimilarityOnCuda<3>;
template class SumsOnCuda<MeanOfSecond>;

}
