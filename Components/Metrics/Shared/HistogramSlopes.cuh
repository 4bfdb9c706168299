#pragma once

#include "Components/Metrics/Shared/HistogramKernels.cuh"

namespace tessera::parzen {

/// A pair's slope from the table of weights' differences.
template <int FixedOrder, int MovingOrder>
struct TableSlope {
  const ParzenLookup& lookup;
  const float* table;

  template <class Fixed>
  __device__ __forceinline__ float operator()(Fixed fixed, float moving) const
  {
    ParzenPlace place;
    if constexpr (MovingOrder == 0) // its slope has the sign of an exact distance
      exactPlace(lookup, fixed, moving, place);
    else
      place = placeOf<FixedOrder, MovingOrder>(lookup, fixed, moving);
    return at(place);
  }
  __device__ __forceinline__ float at(const ParzenPlace& place) const
  {
    const int columns = lookup.windows.moving.bins; // at most 4096, as rows
    return parzenSlope<FixedOrder, MovingOrder>(
        place, [&](int row, int column) { return table[row * columns + column]; });
  }

  /// Side by side if the quick lookup is sure of all four, and one by one otherwise.
  template <class Four>
  __device__ __forceinline__ void four(const Four& loaded, float (&found)[4]) const
  {
    ParzenPlace places[4];
    bool sure = MovingOrder > 0;
#pragma unroll
    for (int s = 0; s < 4; ++s)
      sure &= lookup.quick(loaded.fixed(s), loaded.moving[s], FixedOrder, MovingOrder, places[s]);
    if (sure) {
#pragma unroll
      for (int s = 0; s < 4; ++s)
        found[s] = at(places[s]);
      return;
    }
#pragma unroll
    for (int s = 0; s < 4; ++s)
      found[s] =
          lookup.counts(loaded.fixed(s), loaded.moving[s]) ? (*this)(loaded.fixed(s), loaded.moving[s]) : 0;
  }
};

/// Reads 8 bytes a sample, or with KeptPairs 5 or 6, and writes 4; the table of 4 bytes a bin lies in shared
/// memory or the L1.
template <int FixedOrder, int MovingOrder, bool Shared, class Pairs>
__global__ void __launch_bounds__(512, 2)
    tableSlopes(const __grid_constant__ ParzenLookup lookup, Pairs pairs, const float* table, float* slopes,
                bool slopesAligned)
{
  extern __shared__ float copied[];
  if constexpr (Shared) {
    const unsigned bins = static_cast<unsigned>(lookup.windows.fixed.bins) * lookup.windows.moving.bins;
    for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x)
      copied[bin] = table[bin];
    __syncthreads();
  }
  const TableSlope<FixedOrder, MovingOrder> slope{lookup, Shared ? copied : table};
  writeSlopes(
      pairs, [&](const auto& loaded, float(&found)[4]) { slope.four(loaded, found); }, slopes, slopesAligned);
}

}
