#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Registration/Samples/SampleKernels.h"

namespace tessera {

/// One sample: its point, the voxel of the fixed image at that point (if samples are a lattice), and whether
/// the mask contains it.
template <int D>
struct SampleOnCuda {
  Vec<D> pointMm;
  std::size_t voxel = 0;
  bool asked = true;
};

/// Sample i in the order of the CPU, x fastest. The coordinates are added up in the CPU's order too.
template <int D>
__device__ SampleOnCuda<D> sampleAt(const SamplesOnCuda<D>& samples, std::size_t i)
{
  SampleOnCuda<D> sample;
  if (samples.isList()) {
#pragma unroll
    for (int d = 0; d < D; ++d)
      sample.pointMm[d] = samples.pointMm[d][i];
    return sample;
  }
  unsigned rest = static_cast<unsigned>(i); // a lattice has fewer than 2^32 positions
  int index[D];
  std::size_t stride = 1;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const unsigned count = samples.positions[d];
    const unsigned along = d == D - 1 ? rest : rest % count;
    rest /= count;
    index[d] = samples.first[d] + samples.step[d] * static_cast<int>(along);
    sample.voxel += stride * static_cast<std::size_t>(index[d]);
    stride *= static_cast<std::size_t>(samples.imageSize[d]);
  }
#pragma unroll
  for (int axis = 0; axis < D; ++axis) {
    double sum = samples.pointFromIndex.offset[axis];
#pragma unroll
    for (int d = 0; d < D; ++d)
      sum += samples.pointFromIndex.matrix[axis][d] * index[d];
    sample.pointMm[axis] = sum;
  }
  sample.asked = samples.isAsked(i);
  return sample;
}

/// Sample i, or one that is not asked for where i lies behind the last one.
template <int D>
__device__ SampleOnCuda<D> sampleOrNone(const SamplesOnCuda<D>& samples, std::size_t i)
{
  if (i < samples.count)
    return sampleAt(samples, i);
  SampleOnCuda<D> none;
  none.asked = false;
  return none;
}

/// Adds the number of the block's samples that are asked for to *sum, if there is one. All threads of the
/// block call it, with the same sum.
__device__ inline void addAsked(bool asked, unsigned long long* sum)
{
  if (sum == nullptr)
    return;
  const int ofBlock = __syncthreads_count(asked);
  if (threadIdx.x == 0 && ofBlock > 0)
    atomicAdd(sum, static_cast<unsigned long long>(ofBlock));
}

/// The mapped point T(x) = before(x) + displacement of sample i. Displacements in mm, D planar arrays; null
/// stands for zero.
template <int D>
__device__ Vec<D> mappedMmOf(const SampleOnCuda<D>& sample, const AffineMap<D>& before,
                             const std::array<const float*, D>& displacements, std::size_t i)
{
  Vec<D> mappedMm = before(sample.pointMm);
#pragma unroll
  for (int d = 0; d < D; ++d)
    if (displacements[d] != nullptr)
      mappedMm[d] += displacements[d][i];
  return mappedMm;
}

}
