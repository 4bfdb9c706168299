#include "Components/Metrics/Shared/DistanceKernels.h"

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

/// Each thread handles one point.
template <int D, bool OfPairs>
__global__ void distances(const __grid_constant__ SamplesOnCuda<D> points, const PartnersOnCuda<D> partners,
                          const __grid_constant__ ChainOnCuda<D> chain,
                          const __grid_constant__ MaskOnCuda<D> movingMask,
                          const std::array<float*, D> covectors, double* scratch, DistanceSums<D>* result)
{
  double sums[4] = {};
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < points.count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    const SampleOnCuda<D> sample = sampleAt(points, i);
    Vec<D> difference{};
    double squared = 0;
    bool counts = sample.asked;
    const double weight = OfPairs && partners.weights != nullptr ? partners.weights[i] : 1;
    if (counts) {
      const Vec<D> mappedMm = mapChain<D>(chain, sample.pointMm);
#pragma unroll
      for (int d = 0; d < D; ++d) {
        difference[d] = mappedMm[d] - (OfPairs ? partners.mm[d][i] : sample.pointMm[d]);
        squared += difference[d] * difference[d];
      }
      counts = movingMask.contains(mappedMm);
      sums[3] += 1;
    }
    const PairDistance ofPair(squared, partners.errorMm);
    const double distance = OfPairs ? ofPair.value : squared;
    if (counts) {
      sums[0] += weight * distance;
      sums[1] += weight;
      sums[2] += 1;
    }
    const bool hasSlope = counts && (!OfPairs || ofPair.root > std::numeric_limits<double>::epsilon());
    if (covectors[0] != nullptr)
#pragma unroll
      for (int d = 0; d < D; ++d)
        covectors[d][i] =
            hasSlope ? static_cast<float>(OfPairs ? weight * difference[d] / ofPair.root : 2 * difference[d])
                     : 0.0f;
  }
  addGridSums(sums, scratch, &result->blocksDone, result->sums);
}

}

template <int D>
void distancesOnCuda(Context& context, const SamplesOnCuda<D>& points, const PartnersOnCuda<D>& partners,
                     const ChainOnCuda<D>& chain, const MaskOnCuda<D>& movingMask,
                     const std::array<float*, D>& covectors, double* scratch, DistanceSums<D>* result)
{
  if (points.count == 0)
    return;
  constexpr int threads = 32;
  const auto blocks =
      static_cast<unsigned>(std::min(ceilDiv<std::size_t>(points.count, threads), maxDistanceWarps));
  const auto kernel = partners.mm[0] == nullptr ? distances<D, false> : distances<D, true>;
  kernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(points, partners, chain, movingMask, covectors,
                                                        scratch, result);
  checkLaunch("distances of mapped points");
}

TESSERA_INSTANTIATE_FUNCTIONS(distancesOnCuda<D>);

}
