#include "Components/Metrics/Shared/CorrespondingPointsKernels.h"

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

/// Each thread handles one pair.
template <int D>
__global__ void
distances(const __grid_constant__ SamplesOnCuda<D> points, const std::array<const double*, D> partnersMm,
          const __grid_constant__ ChainOnCuda<D> chain, const __grid_constant__ MaskOnCuda<D> movingMask,
          const std::array<float*, D> covectors, double* scratch, DistanceSums<D>* result)
{
  double sums[2] = {};
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < points.count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    const Vec<D> mappedMm = mapChain<D>(chain, sampleAt(points, i).pointMm);
    Vec<D> difference;
    double squared = 0;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      difference[d] = mappedMm[d] - partnersMm[d][i];
      squared += difference[d] * difference[d];
    }
    const bool counts = movingMask.contains(mappedMm);
    const double distance = sqrt(squared);
    if (counts) {
      sums[0] += distance;
      sums[1] += 1;
    }
    const bool hasSlope = counts && distance > std::numeric_limits<double>::epsilon();
    if (covectors[0] != nullptr)
#pragma unroll
      for (int d = 0; d < D; ++d)
        covectors[d][i] = hasSlope ? static_cast<float>(difference[d] / distance) : 0.0f;
  }
  addGridSums(sums, scratch, &result->blocksDone, result->sums);
}

}

template <int D>
void pointDistancesOnCuda(Context& context, const SamplesOnCuda<D>& points,
                          const std::array<const double*, D>& partnersMm, const ChainOnCuda<D>& chain,
                          const MaskOnCuda<D>& movingMask, const std::array<float*, D>& covectors,
                          double* scratch, DistanceSums<D>* result)
{
  if (points.count == 0)
    return;
  constexpr int threads = 32;
  const auto blocks =
      static_cast<unsigned>(std::min(ceilDiv<std::size_t>(points.count, threads), maxDistanceWarps));
  distances<D><<<blocks, threads, 0, cudaStreamOf(context)>>>(points, partnersMm, chain, movingMask,
                                                              covectors, scratch, result);
  checkLaunch("distances of corresponding points");
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void pointDistancesOnCuda<D>(                                                                     \
      Context&, const SamplesOnCuda<D>&, const std::array<const double*, D>&, const ChainOnCuda<D>&,         \
      const MaskOnCuda<D>&, const std::array<float*, D>&, double*, DistanceSums<D>*);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
