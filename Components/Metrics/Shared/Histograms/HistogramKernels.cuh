#pragma once

#include "Components/Metrics/Shared/Histograms/CountingPlan.h"
#include "Components/Metrics/Shared/Histograms/ParzenLookup.h"
#include "Components/Metrics/Shared/PairKernels.cuh"

namespace tessera {

/// The joint histogram in global memory, laid out like ParzenHistogram::Sums (fixed bin * moving bins +
/// moving bin), and the number of samples.
struct CountsOnCuda {
  unsigned long long* bins = nullptr;
  unsigned long long* valid = nullptr;
};

namespace parzen {

constexpr unsigned wholeWarp = 0xffffffff;

/// Not inlined: it would take registers from the quick lookup that nearly all samples use.
template <int FixedOrder, int MovingOrder>
__device__ __noinline__ void carefulPlace(const ParzenLookup& lookup, float fixed, float moving,
                                          ParzenPlace& place)
{
  place = lookup.careful(fixed, moving, FixedOrder, MovingOrder);
}

template <int FixedOrder, int MovingOrder>
__device__ __forceinline__ ParzenPlace placeOf(const ParzenLookup& lookup, float fixed, float moving)
{
  ParzenPlace place;
  if (!lookup.quick(fixed, moving, FixedOrder, MovingOrder, place)) {
    ParzenPlace careful;
    carefulPlace<FixedOrder, MovingOrder>(lookup, fixed, moving, careful);
    place = careful;
  }
  return place;
}

__device__ __forceinline__ unsigned warpSum(unsigned value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(wholeWarp, value);
#else
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(wholeWarp, value, distance);
  return value;
#endif
}

__device__ __forceinline__ unsigned long long warpSum(unsigned long long value)
{
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(wholeWarp, value, distance);
  return value;
}

/// Whether all 32 lanes have this same place.
__device__ __forceinline__ bool warpAgrees(bool valid, int row, int column)
{
  const int key = valid ? row << 16 | column : -1; // an axis has at most 4096 bins
  const int first = __shfl_sync(wholeWarp, key, 0);
  return __all_sync(wholeWarp, key == first && first >= 0) != 0;
}

/// Sums `share(f, m)` over all lanes for each bin of a window. The lane whose number is the bin's calls
/// `add(f, m, sum)`, once a bin.
template <int FixedOrder, int MovingOrder, class Count, class Share, class Add>
__device__ __forceinline__ void addOnceAWarp(const Share& share, const Add& add)
{
  const int lane = threadIdx.x % 32;
  Count mine = 0;
#pragma unroll
  for (int f = 0; f <= FixedOrder; ++f) {
#pragma unroll
    for (int m = 0; m <= MovingOrder; ++m) {
      const Count sum = warpSum(static_cast<Count>(share(f, m)));
      if (lane == f * (MovingOrder + 1) + m)
        mine = sum;
    }
  }
  if (lane < (FixedOrder + 1) * (MovingOrder + 1))
    add(lane / (MovingOrder + 1), lane % (MovingOrder + 1), mine);
}

/// The bins of a range of rows in a block's shared memory.
struct SharedBins {
  unsigned* bins;
  int firstRow, rows, columns, log2Copies;

  __device__ unsigned size() const { return static_cast<unsigned>(rows) * columns; }

  __device__ void zero() const
  {
    for (unsigned word = threadIdx.x; word < size() << log2Copies; word += blockDim.x)
      bins[word] = 0;
  }

  /// Adds all copies to global memory, where a sample counts 2^32, and sets them to zero. Lanes begin at
  /// different copies, so that they read from different memory banks.
  __device__ void flush(unsigned long long* counts, int bits) const
  {
    const unsigned copies = 1u << log2Copies, rotation = (threadIdx.x % 32) >> (5 - log2Copies);
    for (unsigned bin = threadIdx.x; bin < size(); bin += blockDim.x) {
      unsigned long long sum = 0;
      for (unsigned c = 0; c < copies; ++c) {
        unsigned& word = bins[(bin << log2Copies) + ((c + rotation) & (copies - 1))];
        sum += word;
        word = 0;
      }
      if (sum != 0)
        atomicAdd(counts + static_cast<std::size_t>(firstRow) * columns + bin, sum << (32 - bits));
    }
  }
};

/// The whole number that a sample adds to each bin: 2^bits times the product of its weights, rounded.
template <int FixedOrder, int MovingOrder>
struct Shares {
  /// 2^23: floats from here to 2^24 are whole numbers, so adding it rounds.
  static constexpr float magic = 8388608;
  float scale, fixedWeights[FixedOrder + 1], movingWeights[MovingOrder + 1];

  /// The factor for `bits`. With order 0 the fixed weight is 1, and wholeShare needs another factor.
  static __device__ __forceinline__ float scaleOf(int bits)
  {
    return FixedOrder == 0 ? shareScale(bits) : static_cast<float>(1 << bits);
  }

  __device__ __forceinline__ Shares(const ParzenPlace& place, float scaleOfBits) : scale(scaleOfBits)
  {
    bsplineWeights<FixedOrder, float>(place.fixedT, fixedWeights);
    if constexpr (MovingOrder == 3)
      fusedCubicWeights(place.movingT, movingWeights);
    else
      bsplineWeights<MovingOrder, float>(place.movingT, movingWeights);
    if constexpr (FixedOrder > 0)
      for (float& weight : fixedWeights)
        weight *= scale;
  }
  __device__ __forceinline__ unsigned operator()(int f, int m) const
  {
    if constexpr (FixedOrder == 0)
      return wholeShare(movingWeights[m], scale);
    else
      return __float_as_uint(fmaf(fixedWeights[f], movingWeights[m], magic)) - __float_as_uint(magic);
  }
};

/// *address += value. An address in shared memory takes one register, where a pointer takes two.
__device__ __forceinline__ void addShared(unsigned address, unsigned value)
{
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/// Adds a sample to its window of bins, which begins at `window` in shared memory. Neighbouring bins lie
/// 2^log2Copies words apart, and rows `columns` bins apart.
template <int FixedOrder, int MovingOrder>
__device__ __forceinline__ void addShares(const ParzenPlace& place, unsigned window, int columns,
                                          int log2Copies, float scale)
{
  const Shares<FixedOrder, MovingOrder> share(place, scale);
#pragma unroll
  for (int f = 0; f <= FixedOrder; ++f) {
#pragma unroll
    for (int m = 0; m <= MovingOrder; ++m)
      addShared(window + (f == 0 ? 0 : (f * columns) << (log2Copies + 2)) + (m << (log2Copies + 2)),
                share(f, m));
  }
}

/// Adds one of the few samples for which the quick lookup is not sure. It is not inlined, to keep it away
/// from all others.
template <int FixedOrder, int MovingOrder>
__device__ __noinline__ void addUnsure(const ParzenLookup& lookup, unsigned ofLane, int log2Copies,
                                       float scale, float fixed, float moving)
{
  const ParzenPlace place = lookup.careful(fixed, moving, FixedOrder, MovingOrder);
  const int columns = lookup.windows.moving.bins;
  addShares<FixedOrder, MovingOrder>(
      place, ofLane + ((place.row * columns + place.column) << (log2Copies + 2)), columns, log2Copies, scale);
}

/// Four samples of a thread, handled side by side. A sample for which the quick lookup is not sure first adds
/// nothing to bin 0, so that the four need no branches; countUnsure adds it afterwards.
template <int FixedOrder, int MovingOrder, int Log2Copies>
struct FourSamples {
  FourPairs::Four loaded;

  /// Counts the samples loaded for `four` and loads `next` meanwhile. `ofLane` is the address of this lane's
  /// copy of bin 0 in shared memory. Returns how many samples counted.
  __device__ __forceinline__ unsigned count(const ParzenLookup& lookup, const FourPairs& pairs, unsigned four,
                                            unsigned next, unsigned ofLane, float scale)
  {
    const int columns = lookup.windows.moving.bins;
    ParzenPlace places[4];
    bool sure[4];
#pragma unroll
    for (int s = 0; s < 4; ++s)
      sure[s] = lookup.quick(loaded.fixed(s), loaded.moving[s], FixedOrder, MovingOrder, places[s]);
    loaded = pairs.load(next);
    const bool all = sure[0] && sure[1] && sure[2] && sure[3];
    if (sure[0] || sure[1] || sure[2] || sure[3])
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        const unsigned window =
            ofLane + (static_cast<unsigned>(places[s].row * columns + places[s].column) << (Log2Copies + 2));
        addShares<FixedOrder, MovingOrder>(places[s], sure[s] ? window : ofLane, columns, Log2Copies,
                                           sure[s] ? scale : 0);
      }
    return all ? 4 : countUnsure(lookup, pairs, four, ofLane, scale);
  }

private:
  /// Loads the samples and looks them up again, so that the usual case keeps nothing in registers for this
  /// one.
  static __device__ __forceinline__ unsigned countUnsure(const ParzenLookup& lookup, const FourPairs& pairs,
                                                         unsigned four, unsigned ofLane, float scale)
  {
    const FourPairs::Four again = pairs.load(kept(four));
    unsigned valid = 0;
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      if (!lookup.counts(again.fixed(s), again.moving[s]))
        continue;
      ++valid;
      ParzenPlace place;
      if (!lookup.quick(again.fixed(s), again.moving[s], FixedOrder, MovingOrder, place))
        addUnsure<FixedOrder, MovingOrder>(lookup, ofLane, Log2Copies, scale, again.fixed(s),
                                           again.moving[s]);
    }
    return valid;
  }
};

/// Counts one sample of each lane of a warp. All lanes must call it, also those whose sample does not count.
/// Returns 1 if this lane's sample counted, else 0.
template <int FixedOrder, int MovingOrder>
__device__ __forceinline__ unsigned gather(const ParzenLookup& lookup, const SharedBins& to, float scale,
                                           float fixed, float moving)
{
  const bool valid = lookup.counts(fixed, moving);
  ParzenPlace place;
  if (valid)
    place = placeOf<FixedOrder, MovingOrder>(lookup, fixed, moving);
  const Shares<FixedOrder, MovingOrder> share(place, scale);
  const int row = place.row - to.firstRow, copies = 1 << to.log2Copies;
  unsigned* const window =
      to.bins + ((row * to.columns + place.column) << to.log2Copies) + (threadIdx.x & (copies - 1));
  const auto add = [&](int f, int m, unsigned sum) {
    if (static_cast<unsigned>(row + f) < static_cast<unsigned>(to.rows))
      atomicAdd(window + f * (to.columns << to.log2Copies) + m * copies, sum);
  };
  if (warpAgrees(valid, place.row, place.column)) {
    addOnceAWarp<FixedOrder, MovingOrder, unsigned>(share, add);
  } else if (valid) {
#pragma unroll
    for (int f = 0; f <= FixedOrder; ++f) {
#pragma unroll
      for (int m = 0; m <= MovingOrder; ++m)
        add(f, m, share(f, m));
    }
  }
  return valid;
}

/// The joint histogram in shared memory (Mattes et al. 2003, eq. 6; the windows are in ParzenWindows.h):
///
///   bins = 0
///   for each sample i of the block, four at a time in each thread:
///     (row, column), weights of both axes = place of (f_i, m_i)
///     for each (f, m) of the window:
///       bins[row + f][column + m] += round(2^bits * fixedWeight[f] * movingWeight[m])
///     after roundsBetweenFlushes rounds, before a bin can overflow: add all bins to global memory
///
/// KnownLog2Copies lets the compiler know CountingPlan::log2Copies where a block has all rows; with -1 the
/// plan's is used, and warps gather. It reads 8 bytes a sample for each range of rows, and writes 8 bytes a
/// bin and block. The samples of a round are loaded while those of the round before are counted. There may be
/// at most 2^33 samples.
template <int FixedOrder, int MovingOrder, int KnownLog2Copies>
__global__ void __launch_bounds__(1024, 1) countInShared(const __grid_constant__ ParzenLookup lookup,
                                                         FourPairs pairs, CountingPlan plan, CountsOnCuda to)
{
  static_assert(CountingPlan::samplesAThread == 4);
  extern __shared__ unsigned bins[];
  const int range = static_cast<int>(blockIdx.x) % plan.ranges, firstRow = range * plan.rows;
  const SharedBins own{bins, firstRow, min(plan.rows, lookup.windows.fixed.bins - firstRow),
                       lookup.windows.moving.bins, KnownLog2Copies < 0 ? plan.log2Copies : KnownLog2Copies};
  own.zero();
  __syncthreads();

  const unsigned stride = gridDim.x / plan.ranges * blockDim.x;
  unsigned four = blockIdx.x / plan.ranges * blockDim.x + threadIdx.x;
  const float scale = kept(Shares<FixedOrder, MovingOrder>::scaleOf(plan.bits));
  const unsigned ofLane = kept(
      static_cast<unsigned>(__cvta_generic_to_shared(bins + (threadIdx.x & ((1u << own.log2Copies) - 1)))));
  unsigned valid = 0, roundsToFlush = plan.roundsBetweenFlushes;
  FourSamples<FixedOrder, MovingOrder, KnownLog2Copies> samples;
  samples.loaded = pairs.load(four);
  for (unsigned round = 0; round < plan.rounds; ++round, four += stride) {
    if constexpr (KnownLog2Copies < 0) {
#pragma unroll
      for (int s = 0; s < CountingPlan::samplesAThread; ++s)
        valid += gather<FixedOrder, MovingOrder>(lookup, own, scale, samples.loaded.fixed(s),
                                                 samples.loaded.moving[s]);
      samples.loaded = pairs.load(four + stride);
    } else {
      valid += samples.count(lookup, pairs, four, four + stride, ofLane, scale);
    }
    if (--roundsToFlush == 0 && round + 1 < plan.rounds) {
      __syncthreads();
      own.flush(to.bins, plan.bits);
      __syncthreads();
      roundsToFlush = plan.roundsBetweenFlushes;
    }
  }
  __syncthreads();
  own.flush(to.bins, plan.bits);
  const unsigned ofWarp = warpSum(valid);
  if (range == 0 && threadIdx.x % 32 == 0 && ofWarp != 0)
    atomicAdd(to.valid, static_cast<unsigned long long>(ofWarp));
}

/// Counts samples directly in global memory and adds exactly the numbers that ParzenHistogram adds. It reads
/// 8 bytes a sample and adds 8 bytes to each bin of its window.
template <int FixedOrder, int MovingOrder>
__global__ void __launch_bounds__(256)
    countInGlobal(const __grid_constant__ ParzenLookup lookup, IntensityPairs pairs, CountsOnCuda to)
{
  const ParzenWindows& windows = lookup.windows;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t rounds = ceilDiv(pairs.count, stride);
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned samples = 0;
  for (std::size_t round = 0; round < rounds; ++round, i += stride) {
    float fixed, moving;
    loadPair(pairs, i, fixed, moving);
    const bool valid = counts(fixed, moving);
    int row = 0, column = 0;
    double fixedWeights[FixedOrder + 1], movingWeights[MovingOrder + 1], fixedT = 0, movingT = 0, unused;
    if (valid) {
      row = windows.fixedStart(fixed, fixedT);
      column = windows.movingStart(moving, movingT, unused);
    }
    bsplineWeights<FixedOrder, double>(fixedT, fixedWeights);
    bsplineWeights<MovingOrder, double>(movingT, movingWeights);
    const auto share = [&](int f, int m) {
      return static_cast<unsigned long long>(ParzenWindows::fixedPoint(fixedWeights[f], movingWeights[m]));
    };
    unsigned long long* const window = to.bins + static_cast<std::size_t>(row) * windows.moving.bins + column;
    const auto add = [&](int f, int m, unsigned long long sum) {
      atomicAdd(window + static_cast<std::size_t>(f) * windows.moving.bins + m, sum);
    };
    if (warpAgrees(valid, row, column)) {
      addOnceAWarp<FixedOrder, MovingOrder, unsigned long long>(share, add);
    } else if (valid) {
#pragma unroll
      for (int f = 0; f <= FixedOrder; ++f) {
#pragma unroll
        for (int m = 0; m <= MovingOrder; ++m)
          add(f, m, share(f, m));
      }
    }
    samples += valid;
  }
  const unsigned ofWarp = warpSum(samples);
  if (threadIdx.x % 32 == 0 && ofWarp != 0)
    atomicAdd(to.valid, static_cast<unsigned long long>(ofWarp));
}

}
}
