#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>

namespace tessera {

inline bool multipleOf16(const void* pointer)
{
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

__device__ __forceinline__ bool counts(float fixed, float moving)
{
  return fixed == fixed && moving == moving; // neither is NaN
}

/// Loads pair i; past the end, a pair that does not count.
__device__ __forceinline__ void loadPair(const IntensityPairs& pairs, std::size_t i, float& fixed,
                                         float& moving)
{
  const bool inside = i < pairs.count;
  fixed = inside ? __ldg(pairs.fixed + i) : __int_as_float(0x7fffffff);
  moving = inside ? __ldg(pairs.moving + i) : 0;
}

/// Calls add(fixed, moving) for each pair that counts among every stride-th one, which the threads of the
/// grid share. Four pairs are loaded at a time.
template <class Add>
__device__ __forceinline__ void forEachPair(const IntensityPairs& pairs, std::size_t stride, const Add& add)
{
  constexpr int perThread = 4;
  const std::size_t step = stride * gridDim.x * blockDim.x;
  for (std::size_t i = stride * (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x);
       i < pairs.count; i += perThread * step) {
    float fixed[perThread], moving[perThread];
#pragma unroll
    for (int s = 0; s < perThread; ++s)
      loadPair(pairs, i + s * step, fixed[s], moving[s]);
#pragma unroll
    for (int s = 0; s < perThread; ++s)
      if (counts(fixed[s], moving[s]))
        add(fixed[s], moving[s]);
  }
}

/// Pairs in groups of four.
struct FourPairs {
  struct Four {
    float fixedSide[4], moving[4];

    __device__ __forceinline__ float fixed(int s) const { return fixedSide[s]; }
  };

  IntensityPairs pairs;
  /// Whole groups of four that can be loaded at once; 0 if an array is not aligned to 16 bytes.
  unsigned alignedFours;

  explicit FourPairs(const IntensityPairs& p)
      : pairs(p),
        alignedFours(multipleOf16(p.fixed) && multipleOf16(p.moving) ? static_cast<unsigned>(p.count / 4) : 0)
  {
  }

  __device__ __forceinline__ std::size_t count() const { return pairs.count; }

  /// Loads a group; past the end, pairs that do not count.
  __device__ __forceinline__ Four load(unsigned four) const
  {
    Four loaded;
    if (four < alignedFours) {
      const float4 f = __ldg(reinterpret_cast<const float4*>(pairs.fixed) + four);
      const float4 m = __ldg(reinterpret_cast<const float4*>(pairs.moving) + four);
      return {{f.x, f.y, f.z, f.w}, {m.x, m.y, m.z, m.w}};
    }
#pragma unroll
    for (int s = 0; s < 4; ++s)
      loadPair(pairs, std::size_t(4) * four + s, loaded.fixedSide[s], loaded.moving[s]);
    return loaded;
  }
};

/// Returns `value` in a register that the compiler does not compute again in each round of a loop.
__device__ __forceinline__ unsigned kept(unsigned value)
{
  asm volatile("mov.b32 %0, %0;" : "+r"(value));
  return value;
}

__device__ __forceinline__ float kept(float value)
{
  return __uint_as_float(kept(__float_as_uint(value)));
}

/// Writes the slopes of all pairs; any number of blocks may run it. slopesOfFour(loaded, found) must compute
/// four slopes, 0 where a pair does not count. It writes 4 bytes a sample.
template <class SlopesOfFour>
__device__ __forceinline__ void writeSlopes(const FourPairs& pairs, const SlopesOfFour& slopesOfFour,
                                            float* slopes, bool slopesAligned)
{
  const unsigned stride = gridDim.x * blockDim.x;
  unsigned four = blockIdx.x * blockDim.x + threadIdx.x;
  for (; std::size_t(4) * four < pairs.count(); four += stride) {
    float found[4];
    slopesOfFour(pairs.load(four), found);
    const std::size_t first = std::size_t(4) * four;
    if (slopesAligned && first + 3 < pairs.count()) {
      reinterpret_cast<float4*>(slopes)[four] = make_float4(found[0], found[1], found[2], found[3]);
    } else {
#pragma unroll
      for (int s = 0; s < 4; ++s)
        if (first + s < pairs.count())
          slopes[first + s] = found[s];
    }
  }
}

/// The number of blocks for `count` items, but not more than `most`.
inline unsigned blocksFor(std::size_t count, int threads, unsigned most)
{
  return static_cast<unsigned>(
      std::min<std::size_t>(ceilDiv(count, static_cast<std::size_t>(threads)), most));
}

}
