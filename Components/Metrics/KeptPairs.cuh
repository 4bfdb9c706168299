#pragma once

#include "Components/Metrics/HistogramOnCuda.h"
#include "Components/Metrics/PairKernels.cuh"

namespace tessera {

/// Pairs by fours whose fixed bins are known: a word of four bytes or two words of two numbers for each four, also for the last.
struct KeptPairs {
  using Fixed = KnownBin;

  IntensityPairs pairs; // `fixed` is not read
  KeptFixedBins kept;
  bool aligned; // the moving intensities, to 16 bytes

  KeptPairs(const IntensityPairs& p, const KeptFixedBins& k) : pairs(p), kept(k), aligned(multipleOf16(p.moving)) {}

  __device__ __forceinline__ std::size_t count() const { return pairs.count; }

  __device__ __forceinline__ void load(std::size_t four, KnownBin (&fixed)[4], float (&moving)[4]) const
  {
    if (4 * four >= pairs.count) {
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        fixed[s].row = ~0u;
        moving[s] = 0;
      }
      return;
    }
    if (kept.wide) {
      const uint2 words = __ldg(reinterpret_cast<const uint2*>(kept.words) + four);
      fixed[0].row = words.x & 0xffff, fixed[1].row = words.x >> 16;
      fixed[2].row = words.y & 0xffff, fixed[3].row = words.y >> 16;
    } else {
      const unsigned word = __ldg(kept.words + four);
#pragma unroll
      for (int s = 0; s < 4; ++s)
        fixed[s].row = word >> 8 * s & 0xff;
    }
    if (aligned && 4 * four + 3 < pairs.count) {
      const float4 m = __ldg(reinterpret_cast<const float4*>(pairs.moving) + four);
      moving[0] = m.x, moving[1] = m.y, moving[2] = m.z, moving[3] = m.w;
      return;
    }
#pragma unroll
    for (int s = 0; s < 4; ++s)
      moving[s] = 4 * four + s < pairs.count ? __ldg(pairs.moving + 4 * four + s) : 0;
  }
};

namespace parzen {

/// Reads 4 bytes a sample, writes 1 or 2.
static __global__ void __launch_bounds__(256)
    keepFixedBins(const __grid_constant__ ParzenLookup lookup, FourPairs pairs, bool wide, unsigned* words)
{
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t four = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; 4 * four < pairs.count(); four += stride) {
    float fixed[4];
    pairs.loadFixed(four, fixed);
    unsigned rows[4];
#pragma unroll
    for (int s = 0; s < 4; ++s)
      rows[s] = min(lookup.knownBin(fixed[s]).row, wide ? 0xffffu : 0xffu);
    if (wide)
      reinterpret_cast<uint2*>(words)[four] = make_uint2(rows[0] | rows[1] << 16, rows[2] | rows[3] << 16);
    else
      words[four] = rows[0] | rows[1] << 8 | rows[2] << 16 | rows[3] << 24;
  }
}

}
}
