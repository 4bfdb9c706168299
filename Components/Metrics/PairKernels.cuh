#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/MetricOnCuda.h"

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

/// Past the end: a pair that does not count.
__device__ __forceinline__ void loadPair(const IntensityPairs& pairs, std::size_t i, float& fixed, float& moving)
{
  const bool inside = i < pairs.count;
  fixed = inside ? __ldg(pairs.fixed + i) : __int_as_float(0x7fffffff);
  moving = inside ? __ldg(pairs.moving + i) : 0;
}

/// Pairs by fours.
struct FourPairs {
  using Fixed = float;

  IntensityPairs pairs;
  bool aligned; // to 16 bytes

  explicit FourPairs(const IntensityPairs& p) : pairs(p), aligned(multipleOf16(p.fixed) && multipleOf16(p.moving)) {}

  __device__ __forceinline__ std::size_t count() const { return pairs.count; }

  __device__ __forceinline__ void load(std::size_t four, float (&fixed)[4], float (&moving)[4]) const
  {
    if (aligned && 4 * four + 3 < pairs.count) {
      const float4 f = __ldg(reinterpret_cast<const float4*>(pairs.fixed) + four);
      const float4 m = __ldg(reinterpret_cast<const float4*>(pairs.moving) + four);
      fixed[0] = f.x, fixed[1] = f.y, fixed[2] = f.z, fixed[3] = f.w;
      moving[0] = m.x, moving[1] = m.y, moving[2] = m.z, moving[3] = m.w;
      return;
    }
#pragma unroll
    for (int s = 0; s < 4; ++s)
      loadPair(pairs, 4 * four + s, fixed[s], moving[s]);
  }

  /// Past the end: NaN.
  __device__ __forceinline__ void loadFixed(std::size_t four, float (&fixed)[4]) const
  {
#pragma unroll
    for (int s = 0; s < 4; ++s)
      fixed[s] = 4 * four + s < pairs.count ? __ldg(pairs.fixed + 4 * four + s) : __int_as_float(0x7fffffff);
  }
};

/// slopes[i] = slope(fixed, moving), or 0 where counts(fixed, moving) is false, by a grid of any size: 4 bytes a sample written.
template <class Pairs, class Counts, class Slope>
__device__ __forceinline__ void writeSlopes(const Pairs& pairs, const Counts& counts, const Slope& slope, float* slopes,
                                            bool slopesAligned)
{
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t four = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; 4 * four < pairs.count(); four += stride) {
    typename Pairs::Fixed fixed[4];
    float moving[4], found[4];
    pairs.load(four, fixed, moving);
#pragma unroll
    for (int s = 0; s < 4; ++s)
      found[s] = counts(fixed[s], moving[s]) ? slope(fixed[s], moving[s]) : 0;
    if (slopesAligned && 4 * four + 3 < pairs.count()) {
      reinterpret_cast<float4*>(slopes)[four] = make_float4(found[0], found[1], found[2], found[3]);
    } else {
#pragma unroll
      for (int s = 0; s < 4; ++s)
        if (4 * four + s < pairs.count())
          slopes[4 * four + s] = found[s];
    }
  }
}

/// Blocks for `count` items, at most `most`.
inline unsigned blocksFor(std::size_t count, int threads, unsigned most)
{
  return static_cast<unsigned>(std::min<std::size_t>(ceilDiv(count, static_cast<std::size_t>(threads)), most));
}

}
