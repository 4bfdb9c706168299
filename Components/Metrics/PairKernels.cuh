#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/MetricOnCuda.h"

#include <cstdint>

namespace tessera {

/// One array a component, null for none.
struct GradientArrays {
  float* of[3];
};

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
  IntensityPairs pairs;
  bool aligned; // to 16 bytes

  explicit FourPairs(const IntensityPairs& p) : pairs(p), aligned(multipleOf16(p.fixed) && multipleOf16(p.moving)) {}

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

private:
  static bool multipleOf16(const void* pointer)
  {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  }
};

/// Gradients times slope(fixed, moving), by a grid of any size: 8 bytes a sample read, and 4 a component read and written.
template <class Slope>
__device__ __forceinline__ void multiplyBy(const Slope& slope, const IntensityPairs& pairs, const GradientArrays& gradients)
{
  constexpr int perThread = 2;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; first < pairs.count; first += perThread * stride) {
    float fixed[perThread], moving[perThread], gradient[3][perThread];
#pragma unroll
    for (int s = 0; s < perThread; ++s) {
      const std::size_t i = first + s * stride;
      loadPair(pairs, i, fixed[s], moving[s]);
#pragma unroll
      for (int d = 0; d < 3; ++d)
        gradient[d][s] = gradients.of[d] && i < pairs.count ? gradients.of[d][i] : 0;
    }
#pragma unroll
    for (int s = 0; s < perThread; ++s) {
      const std::size_t i = first + s * stride;
      if (i >= pairs.count)
        continue;
      const bool valid = counts(fixed[s], moving[s]);
      const float factor = valid ? slope(fixed[s], moving[s]) : 0;
#pragma unroll
      for (int d = 0; d < 3; ++d)
        if (gradients.of[d])
          gradients.of[d][i] = valid ? gradient[d][s] * factor : 0;
    }
  }
}

/// Blocks for `count` items, at most `most`.
inline unsigned blocksFor(std::size_t count, int threads, unsigned most)
{
  return static_cast<unsigned>(std::min<std::size_t>(ceilDiv(count, static_cast<std::size_t>(threads)), most));
}

}
