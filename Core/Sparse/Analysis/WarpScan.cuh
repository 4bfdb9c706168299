#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {

/// The sum over this lane and the lanes before it in its group of `Width` neighbouring lanes.
template <int Width>
__device__ __forceinline__ int groupInclusive(int value)
{
  const int lane = threadIdx.x % Width;
#pragma unroll
  for (int distance = 1; distance < Width; distance *= 2) {
    const int before = __shfl_up_sync(~0u, value, distance, Width);
    if (lane >= distance)
      value += before;
  }
  return value;
}

/// The sum over the lanes before this one. `total` becomes the sum over the warp.
__device__ __forceinline__ int warpExclusive(int value, int& total)
{
  const int inclusive = groupInclusive<32>(value);
  total = __shfl_sync(~0u, inclusive, 31);
  return inclusive - value;
}

/// The sum over the group of `Width` lanes, in every lane. For integers, whose sum does not depend on the
/// order.
template <int Width, class T>
__device__ __forceinline__ T groupSum(T value)
{
#pragma unroll
  for (int distance = Width / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

__device__ __forceinline__ int warpMinimum(int value)
{
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value = min(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}

__device__ __forceinline__ int warpMaximum(int value)
{
  return -warpMinimum(-value);
}

/// The last lane of the group whose `start` is at most `position`. The starts must rise, and that of the
/// first lane must be at most `position`.
template <int Width>
__device__ __forceinline__ int ownerOf(int position, int start)
{
  int owner = 0;
#pragma unroll
  for (int distance = Width / 2; distance > 0; distance /= 2) {
    const int of = __shfl_sync(~0u, start, owner + distance, Width);
    if (of <= position)
      owner += distance;
  }
  return owner;
}

/// Sets a bit in shared memory. Most bits are set already, and reading takes less time than an atomic
/// operation.
__device__ __forceinline__ void setBit(unsigned* words, int bit)
{
  const unsigned wanted = 1u << (bit & 31);
  unsigned& word = words[bit >> 5];
  if (!(*static_cast<volatile unsigned*>(&word) & wanted))
    atomicOr(&word, wanted);
}

/// The mask of the bits before bit `bit % 32` of a word.
__device__ __forceinline__ unsigned bitsBefore(int bit)
{
  return (1u << (bit & 31)) - 1;
}

/// Sets before[i] to the number of bits that are set in the words before word i of `count` words in shared
/// memory. Returns the number of all set bits. All `Threads` threads of the block must call it after a
/// barrier; it ends with a barrier.
template <int Threads, class Count>
__device__ int rankBitsInBlock(const unsigned* words, Count* before, int count)
{
  __shared__ int ofWarps[Threads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int each = ceilDiv(count, Threads) | 1; // odd, so that the threads' parts begin in different banks
  const int first = min(count, static_cast<int>(threadIdx.x) * each), last = min(count, first + each);
  int sum = 0;
  for (int w = first; w < last; ++w)
    sum += __popc(words[w]);
  int ofWarp = 0, sumBefore = warpExclusive(sum, ofWarp), total = 0;
  if (lane == 0)
    ofWarps[warp] = ofWarp;
  __syncthreads();
  for (int w = 0; w < Threads / 32; ++w) {
    if (w < warp)
      sumBefore += ofWarps[w];
    total += ofWarps[w];
  }
  for (int w = first; w < last; ++w) {
    before[w] = static_cast<Count>(sumBefore);
    sumBefore += __popc(words[w]);
  }
  __syncthreads();
  return total;
}

}
