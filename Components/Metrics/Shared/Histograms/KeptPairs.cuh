#pragma once

#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Components/Metrics/Shared/PairKernels.cuh"

namespace tessera {

/// Pairs by fours whose fixed bins are known: a word of four bytes or two words of two numbers for each four,
/// also for the last.
template <bool Wide>
struct KeptPairs {
  struct Four {
    unsigned words[Wide ? 2 : 1]; // not yet taken apart: that would wait for them
    float moving[4];

    __device__ __forceinline__ KnownBin fixed(int s) const
    {
      if constexpr (Wide)
        return {s % 2 == 0 ? words[s / 2] & 0xffff : words[s / 2] >> 16};
      else
        return {words[0] >> 8 * s & 0xff};
    }
  };

  IntensityPairs pairs; // `fixed` is not read
  const std::uint32_t* words;
  unsigned alignedFours; // whose moving intensities begin at multiples of 16 bytes, and that are whole

  KeptPairs(const IntensityPairs& p, const KeptFixedBins& kept)
      : pairs(p), words(kept.words),
        alignedFours(multipleOf16(p.moving) ? static_cast<unsigned>(p.count / 4) : 0)
  {
  }

  __device__ __forceinline__ std::size_t count() const { return pairs.count; }

  /// Past the end: pairs that do not count.
  __device__ __forceinline__ Four load(unsigned four) const
  {
    Four loaded;
    if (four < alignedFours) {
      loadBins(four, loaded);
      const float4 m = __ldg(reinterpret_cast<const float4*>(pairs.moving) + four);
      loaded.moving[0] = m.x, loaded.moving[1] = m.y, loaded.moving[2] = m.z, loaded.moving[3] = m.w;
      return loaded;
    }
    const std::size_t first = std::size_t(4) * four;
#pragma unroll
    for (int s = 0; s < 4; ++s)
      loaded.moving[s] = first + s < pairs.count ? __ldg(pairs.moving + first + s) : 0;
    for (unsigned& word : loaded.words)
      word = ~0u;
    if (first < pairs.count)
      loadBins(four, loaded);
    return loaded;
  }

private:
  __device__ __forceinline__ void loadBins(unsigned four, Four& loaded) const
  {
    if constexpr (Wide) {
      const uint2 two = __ldg(reinterpret_cast<const uint2*>(words) + four);
      loaded.words[0] = two.x, loaded.words[1] = two.y;
    } else {
      loaded.words[0] = __ldg(words + four);
    }
  }
};

namespace parzen {

/// Reads 4 bytes a sample, writes 1 or 2.
static __global__ void __launch_bounds__(256)
    keepFixedBins(const __grid_constant__ ParzenLookup lookup, FourPairs pairs, bool wide, unsigned* words)
{
  const unsigned stride = gridDim.x * blockDim.x;
  unsigned four = blockIdx.x * blockDim.x + threadIdx.x;
  for (; std::size_t(4) * four < pairs.count(); four += stride) {
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
