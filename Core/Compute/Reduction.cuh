#pragma once

#include "Core/Compute/Cuda.cuh"

namespace tessera {

/// Sum over the lanes of a warp, in a fixed order; the first lane has it.
__device__ __forceinline__ double warpSum(double value)
{
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(~0u, value, offset);
  return value;
}

/// Sum over a block of `Threads` threads, in a fixed order; thread 0 has it. Every thread of the block must call it.
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
  __syncthreads(); // the next call may overwrite
  return value;
}

}
