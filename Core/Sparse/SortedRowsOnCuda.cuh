#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/RowRingOnCuda.cuh"
#include "Core/Sparse/WarpScan.cuh"

#include <type_traits>

namespace tessera {

template <int Value>
using Constant = std::integral_constant<int, Value>;

/// The products of a row, Items a lane of a group of neighbouring lanes; in which order says who uses them. Without values they are
/// columns alone.
template <int Items, class V>
struct RowItems {
  static constexpr int none = 0x7fffffff; // behind every column
  int column[Items];
  V value[Items];
};

/// All products of entries [first, last) of A, at most Items * Group; neighbouring lanes take neighbouring entries of B.
template <int Group, int Items, bool Values, class V, class Ring>
__device__ void expandRow(Ring& ring, const CsrView<V>& a, const CsrView<V>& b, std::uint64_t first, std::uint64_t last,
                          RowItems<Items, V>& items)
{
  const int lane = threadIdx.x % Group;
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    items.column[i] = RowItems<Items, V>::none;
    items.value[i] = Ring::zero;
  }
  int done = 0;
  for (std::uint64_t e = first; __any_sync(~0u, e < last); e += Group) {
    std::uint64_t from = 0;
    int length = 0;
    V ofA = 0;
    if (e + lane < last) {
      const std::uint32_t k = a.column[e + lane];
      from = b.rowStart[k];
      length = static_cast<int>(b.rowStart[k + 1] - from);
      if constexpr (Values)
        ofA = a.value[e + lane];
    }
    const int inclusive = groupInclusive<Group>(length), start = inclusive - length;
    const int total = __shfl_sync(~0u, inclusive, Group - 1, Group);
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      const int position = i * Group + lane - done;
      const int owner = ownerOf<Group>(position, start);
      const std::uint64_t fromOwner = __shfl_sync(~0u, from, owner, Group);
      const int startOfOwner = __shfl_sync(~0u, start, owner, Group);
      V factor = 0;
      if constexpr (Values)
        factor = __shfl_sync(~0u, ofA, owner, Group);
      if (position >= 0 && position < total) {
        const std::uint64_t at = fromOwner + (position - startOfOwner);
        items.column[i] = static_cast<int>(b.column[at]);
        if constexpr (Values)
          items.value[i] = multiplyAdd(ring, factor, b.value[at], Ring::zero);
      }
    }
    done += total;
  }
}

/// Columns rising; item `lane * Items + i` is item i of that lane (Batcher's bitonic network: what goes where depends on the
/// columns alone).
template <int Group, int Items, bool Values, class V>
__device__ void sortItems(RowItems<Items, V>& items)
{
  const int lane = threadIdx.x % Group;
#pragma unroll
  for (int size = 2; size <= Group * Items; size *= 2)
#pragma unroll
    for (int distance = size / 2; distance > 0; distance /= 2)
#pragma unroll
      for (int i = 0; i < Items; ++i) {
        const bool ascending = size == Group * Items || ((lane * Items + i) & size) == 0;
        if (distance >= Items) {
          const int other = __shfl_xor_sync(~0u, items.column[i], distance / Items);
          V otherValue = 0;
          if constexpr (Values)
            otherValue = __shfl_xor_sync(~0u, items.value[i], distance / Items);
          const bool lower = (lane & (distance / Items)) == 0;
          if (lower == ascending ? other < items.column[i] : other > items.column[i]) {
            items.column[i] = other;
            items.value[i] = otherValue;
          }
        } else if ((i & distance) == 0) {
          const int low = items.column[i], high = items.column[i + distance];
          if (ascending ? high < low : low < high) {
            items.column[i] = high;
            items.column[i + distance] = low;
            const V value = items.value[i];
            items.value[i] = items.value[i + distance];
            items.value[i + distance] = value;
          }
        }
      }
}

/// How many different columns start in this lane.
template <int Items, class V>
__device__ int columnsThatStart(const RowItems<Items, V>& items, int lane, int columnBefore)
{
  int heads = 0;
#pragma unroll
  for (int i = 0; i < Items; ++i)
    heads += items.column[i] != RowItems<Items, V>::none
             && (i > 0 ? items.column[i] != items.column[i > 0 ? i - 1 : 0] : lane == 0 || items.column[0] != columnBefore);
  return heads;
}

/// Values of equal columns become running sums within the lane; returns the sum of the run that ends in the lane before.
template <int Group, int Items, class V, class Ring>
__device__ V sumRuns(Ring& ring, RowItems<Items, V>& items)
{
  const int lane = threadIdx.x % Group;
#pragma unroll
  for (int i = 1; i < Items; ++i)
    if (items.column[i] == items.column[i - 1])
      items.value[i] = ring.add(items.value[i - 1], items.value[i]);
  V sum = items.value[Items - 1];
  bool goesOn = items.column[0] == items.column[Items - 1]; // the run that ends here may start in a lane before
#pragma unroll
  for (int distance = 1; distance < Group; distance *= 2) {
    const V before = __shfl_up_sync(~0u, sum, distance, Group);
    const int columnBefore = __shfl_up_sync(~0u, items.column[Items - 1], distance, Group);
    const bool beforeGoesOn = __shfl_up_sync(~0u, static_cast<int>(goesOn), distance, Group);
    if (lane >= distance) {
      const bool same = goesOn && columnBefore == items.column[Items - 1];
      if (same)
        sum = ring.add(before, sum);
      goesOn = same && beforeGoesOn;
    }
  }
  return __shfl_up_sync(~0u, sum, 1, Group);
}

/// body(lanes a row, products a lane, rows, block) for the bin of this block, and which of the bin it is.
template <class Body>
__device__ __forceinline__ void forSortedBin(const SortedBins& bins, Body&& body)
{
  const auto of = [&](auto lanes, auto items, int bin) { body(lanes, items, bins.rows[bin], blockIdx.x - bins.firstBlock[bin]); };
  if (blockIdx.x < bins.firstBlock[3])
    of(Constant<32>(), Constant<4>(), 4);
  else if (blockIdx.x < bins.firstBlock[2])
    of(Constant<16>(), Constant<4>(), 3);
  else if (blockIdx.x < bins.firstBlock[1])
    of(Constant<8>(), Constant<4>(), 2);
  else if (blockIdx.x < bins.firstBlock[0])
    of(Constant<4>(), Constant<4>(), 1);
  else
    of(Constant<4>(), Constant<2>(), 0);
}

/// Where a row of so many entries begins, of which each group of lanes has one; whether it is to be written, says `isMade`. Every
/// thread of the block calls it.
template <int Group, class V>
__device__ __forceinline__ std::uint64_t placeOfRow(const RowTarget<V>& c, std::uint32_t row, int entries, bool& isMade)
{
  if (c.rowStart)
    return isMade ? c.rowStart[row] : 0;
  constexpr int warps = sorterThreads / 32;
  __shared__ std::uint32_t before[warps], base;
  const int warp = threadIdx.x / 32;
  const bool isFirst = threadIdx.x % Group == 0;
  int ofWarp = 0;
  const int beforeInWarp = __shfl_sync(~0u, warpExclusive(isFirst ? entries : 0, ofWarp), 0, Group);
  if (threadIdx.x % 32 == 0)
    before[warp] = static_cast<std::uint32_t>(ofWarp);
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t all = 0;
    for (std::uint32_t& one : before) {
      const std::uint32_t own = one;
      one = all;
      all += own;
    }
    base = c.scratch.take(all);
  }
  __syncthreads();
  const bool fits = base != notMade;
  const std::uint32_t start = fits ? base + before[warp] + static_cast<std::uint32_t>(beforeInWarp) : notMade;
  if (isMade && isFirst) {
    c.scratch.start[row] = start;
    c.scratch.count[row] = static_cast<std::uint32_t>(entries);
  }
  isMade = isMade && fits;
  return start;
}

/// A group of lanes a row. Reads 4 bytes of the list a row, 8 + sizeof(V) an entry of A and 4 + sizeof(V) a product; writes
/// 4 + sizeof(V) an entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(sorterThreads) multiplySortedRows(CsrView<V> a, CsrView<V> b, SortedBins bins, RowTarget<V> c)
{
  forSortedBin(bins, [&](auto lanes, auto itemsALane, const RowList& rows, unsigned block) {
    constexpr int Group = lanes(), Items = itemsALane();
    const std::uint32_t task = (block * sorterThreads + threadIdx.x) / Group;
    const int lane = threadIdx.x % Group;
    bool isMade = task < rows.count;
    const std::uint32_t row = isMade ? rows.list[task] : 0;
    Ring ring;
    RowItems<Items, V> items;
    expandRow<Group, Items, true>(ring, a, b, isMade ? a.rowStart[row] : 0, isMade ? a.rowStart[row + 1] : 0, items);
    sortItems<Group, Items, true>(items);
    const int columnBefore = __shfl_up_sync(~0u, items.column[Items - 1], 1, Group);
    const int columnBehind = __shfl_down_sync(~0u, items.column[0], 1, Group);
    const int heads = columnsThatStart(items, lane, columnBefore), headsTillHere = groupInclusive<Group>(heads);
    const V carry = sumRuns<Group>(ring, items);
    const int entries = __shfl_sync(~0u, headsTillHere, Group - 1, Group);
    std::uint64_t to =
        placeOfRow<Group>(c, row, entries, isMade) + (headsTillHere - heads); // one more than where the run is written
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      const int column = items.column[i];
      if (!isMade || column == RowItems<Items, V>::none)
        continue;
      const bool goesOn = lane > 0 && column == columnBefore; // from the lane before
      to += i > 0 ? column != items.column[i > 0 ? i - 1 : 0] : !goesOn;
      const bool ends =
          i + 1 < Items ? items.column[i + 1 < Items ? i + 1 : i] != column : lane == Group - 1 || columnBehind != column;
      if (ends) {
        c.column[to - 1] = static_cast<std::uint32_t>(column);
        c.value[to - 1] = goesOn ? ring.add(carry, items.value[i]) : items.value[i];
      }
    }
    c.report(ring);
  });
}

}
