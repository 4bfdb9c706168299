#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <cmath>

namespace tessera {

constexpr int threadsOfMapping = 128;

/// map(x) of one sample x a thread.
template <int D, class Map>
__global__ void __launch_bounds__(threadsOfMapping)
    mapEachSample(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ Map map,
                  const __grid_constant__ MappedTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const bool exists = i < samples.count;
  const SampleOnCuda<D> sample = sampleOrNone(samples, i);
  Vec<D> mappedMm;
  mappedMm.fill(NAN);
  if (sample.asked)
    mappedMm = map(sample.pointMm);
  if (exists) {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      if (target.mappedMm != nullptr)
        target.mappedMm[d * samples.count + i] = mappedMm[d];
      if (target.field[d] != nullptr && sample.asked)
        target.field[d][i] += static_cast<float>(mappedMm[d] - sample.pointMm[d]);
    }
    if (target.fixed != nullptr)
      target.fixed[i] = __ldg(samples.image + sample.voxel);
  }
  addAsked(sample.asked, target.asked);
}

template <int D, class Map>
void mapSamples(Context& context, const SamplesOnCuda<D>& samples, const Map& map,
                const MappedTarget<D>& target)
{
  if (samples.count == 0)
    return;
  // Few samples go in small blocks, which spread them over the multiprocessors.
  const int threads = samples.count > 16384 ? threadsOfMapping : 32;
  mapEachSample<D><<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads)), threads, 0,
                     cudaStreamOf(context)>>>(samples, map, target);
  checkLaunch("points of samples");
}

}
