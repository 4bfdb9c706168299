#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"

#include "Components/Metrics/Shared/Histograms/HistogramKernels.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramLaunch.cuh"

namespace tessera {
namespace parzen {

/// It is not inlined, for the reason of carefulPlace.
static __device__ __noinline__ void exactPlace(const ParzenLookup& lookup, float fixed, float moving,
                                               ParzenPlace& place)
{
  place = lookup.exact(fixed, moving);
}

/// Computes a pair's slope from the table that EntropyOnCuda.cuh writes.
template <int FixedOrder, int MovingOrder>
struct TableSlope {
  const ParzenLookup& lookup;
  const float* table;

  __device__ __forceinline__ float operator()(float fixed, float moving) const
  {
    ParzenPlace place;
    if constexpr (MovingOrder == 0) // an exact distance is needed, because the slope has its sign
      exactPlace(lookup, fixed, moving, place);
    else
      place = placeOf<FixedOrder, MovingOrder>(lookup, fixed, moving);
    return at(place);
  }
  __device__ __forceinline__ float at(const ParzenPlace& place) const
  {
    const int columns = lookup.windows.moving.bins; // at most 4096
    return parzenSlope<FixedOrder, MovingOrder>(
        place, [&](int row, int column) { return table[row * columns + column]; });
  }

  /// Computes four slopes side by side if the quick lookup is sure of all four, and one by one otherwise.
  __device__ __forceinline__ void four(const FourPairs::Four& loaded, float (&found)[4]) const
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

/// d value / d moving intensity of each sample (Thevenaz and Unser 2000; the table stands in place of
/// the sum over all bins). It reads 8 bytes a sample and writes 4; the table, 4 bytes
/// a bin, lies in shared memory or in the L1 cache.
template <int FixedOrder, int MovingOrder, bool Shared>
__global__ void __launch_bounds__(512, 2)
    tableSlopes(const __grid_constant__ ParzenLookup lookup, FourPairs pairs, const float* table,
                float* slopes, bool slopesAligned)
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

namespace {

int attributeOf(const Context& context, cudaDeviceAttr attribute)
{
  int value = 0;
  checkCuda(cudaDeviceGetAttribute(&value, attribute, context.device.ordinal),
            "asking for a device's attribute");
  return value;
}

}

void HistogramOnCuda::begin(Context& context)
{
  if (multiprocessors_ == 0) {
    multiprocessors_ = attributeOf(context, cudaDevAttrMultiProcessorCount);
    sharedBytes_ = attributeOf(context, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  }
  context.stream->fill(counts_.span().data(), 0, counts_.size() * sizeof(unsigned long long));
}

void HistogramOnCuda::slopes(Context& context, const IntensityPairs& pairs, float* slopes) const
{
  if (pairs.count == 0)
    return;
  constexpr int maxThreads = 512, fewThreads = 64, blocksAMultiprocessor = 2;
  constexpr std::size_t maxSharedBytes = 48 << 10, fewestSamplesForShared = 262144;
  const std::size_t tableBytes = bins() * sizeof(float);
  const bool large = pairs.count >= fewestSamplesForShared, shared = large && tableBytes <= maxSharedBytes;
  const int threads = large ? maxThreads : fewThreads;
  const unsigned blocks = blocksFor(ceilDiv<std::size_t>(pairs.count, 4), threads,
                                    multiprocessors_ * blocksAMultiprocessor * (maxThreads / threads));
  const cudaStream_t stream = cudaStreamOf(context);
  parzen::withOrders(lookup_.windows, [&]<int Fixed, int Moving>() {
    const auto kernel =
        shared ? parzen::tableSlopes<Fixed, Moving, true> : parzen::tableSlopes<Fixed, Moving, false>;
    kernel<<<blocks, threads, shared ? tableBytes : 0, stream>>>(
        lookup_, FourPairs(pairs), table_.span().data(), slopes, multipleOf16(slopes));
    checkLaunch("slopes of a histogram");
  });
}

}
