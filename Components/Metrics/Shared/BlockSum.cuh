#pragma once

#include <cstring>

namespace tessera {

/// The `value` of the lane that is `distance` higher in the warp. T consists of doubles.
template <class T>
__device__ __forceinline__ T fromHigherLane(const T& value, int distance)
{
  constexpr int doubles = sizeof(T) / sizeof(double);
  static_assert(sizeof(T) % sizeof(double) == 0);
  double parts[doubles];
  memcpy(parts, &value, sizeof(T));
#pragma unroll
  for (int p = 0; p < doubles; ++p)
    parts[p] = __shfl_down_sync(0xffffffff, parts[p], distance);
  T result;
  memcpy(&result, parts, sizeof(T));
  return result;
}

template <class T>
__device__ __forceinline__ T sumOfWarp(T value) // the sum is valid in lane 0
{
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value.add(fromHigherLane(value, distance));
  return value;
}

/// Adds the values of all threads of a block by T::add, always in the same order; the sum is valid in thread
/// 0. All threads must call it, and the block must consist of whole warps.
template <class T>
__device__ T sumOfBlock(T value)
{
  constexpr int doubles = sizeof(T) / sizeof(double);
  __shared__ double ofWarps[32 * doubles];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = sumOfWarp(value);
  __syncthreads(); // threads may still read the result of an earlier call
  if (lane == 0)
    memcpy(ofWarps + warp * doubles, &value, sizeof(T));
  __syncthreads();
  T result;
  if (warp == 0) {
    if (lane < blockDim.x / 32)
      memcpy(&result, ofWarps + lane * doubles, sizeof(T));
    result = sumOfWarp(result);
  }
  return result;
}

}
