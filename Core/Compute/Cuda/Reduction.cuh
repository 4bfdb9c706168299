#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {

/// The sum over the lanes of a warp, in a fixed order; it is valid in the first lane.
__device__ __forceinline__ double warpSum(double value)
{
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(~0u, value, offset);
  return value;
}

/// The sum over a block of `Threads` threads, in a fixed order; it is valid in thread 0. Every thread of the
/// block must call it.
template <int Threads>
__device__ double blockSum(double value)
{
  static_assert(Threads % 32 == 0 && Threads <= 1024);
  __shared__ double ofWarps[Threads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warpSum(value);
  if (lane == 0)
    ofWarps[warp] = value;
  __syncthreads();
  value = 0;
  if (warp == 0)
    value = warpSum(lane < Threads / 32 ? ofWarps[lane] : 0);
  __syncthreads(); // the next call may overwrite it
  return value;
}

/// totals[n] += sum of values[n] over all threads of the grid, in a fixed order: warps write partial sums,
/// which the block that ends last adds up. Every thread must call it once. Blocks must consist of whole
/// warps. `partials` has N doubles for each warp of the grid, and `blocksDone` is zero before and after.
template <int N>
__device__ void addGridSums(const double (&values)[N], double* partials, unsigned* blocksDone, double* totals)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warpsPerBlock = blockDim.x / 32;
  const int warps = gridDim.x * warpsPerBlock, own = blockIdx.x * warpsPerBlock + warp;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const double sum = warpSum(values[n]);
    if (lane == 0)
      partials[n * warps + own] = sum;
  }
  __shared__ bool isLast;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    isLast = atomicAdd(blocksDone, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!isLast)
    return;
  __threadfence();
  for (int n = warp; n < N; n += warpsPerBlock) {
    double sum = 0;
    for (int w = lane; w < warps; w += 32)
      sum += __ldcg(partials + n * warps + w);
    sum = warpSum(sum);
    if (lane == 0)
      totals[n] += sum;
  }
  if (threadIdx.x == 0)
    *blocksDone = 0;
}

}
