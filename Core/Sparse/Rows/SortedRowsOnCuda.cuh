#pragma once

#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Rows/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/Rows/RowRingOnCuda.cuh"

#include <bit>
#include <type_traits>

namespace tessera {

template <int Value>
using Constant = std::integral_constant<int, Value>;

/// The products of a row as keys for sorting; each lane of a group of neighbouring lanes has `Items` of them.
/// A key is the column and, in its low bits, the number of the product within the row. So no two keys are
/// equal, and products of the same column keep the order of the entries of A. With `Values` false a key is
/// the column alone.
template <int Group, int Items, bool Values, class Key>
struct RowKeys {
  static constexpr int places = Group * Items, placeBits = Values ? std::bit_width(unsigned{places} - 1) : 0;
  static constexpr Key none = ~Key{0}; // larger than every other key
  Key key[Items];

  __device__ static Key keyOf(std::uint32_t column, int place)
  {
    return Values ? Key{column} << placeBits | static_cast<Key>(place) : Key{column};
  }
  __device__ std::uint32_t column(int item) const
  {
    return static_cast<std::uint32_t>(key[item] >> placeBits);
  }
  __device__ int place(int item) const { return static_cast<int>(key[item]) & (places - 1); }
};

/// True if keys of this type can hold so many columns, for any number of products that is sorted.
template <class Key>
constexpr bool hasKeysOf(std::size_t columns)
{
  using Largest = RowKeys<32, maxSortedProducts / 32, true, Key>;
  return columns <= (Largest::none >> Largest::placeBits);
}

/// Loads all products of entries [first, last) of A, at most Items * Group. Neighbouring lanes take
/// neighbouring entries of B. The values go to shared memory of the group, at the places that the keys tell.
template <int Group, int Items, bool Values, class Key, class V, class Ring>
__device__ void expandRow(Ring& ring, const CsrView<V>& a, const CsrView<V>& b, std::uint64_t first,
                          std::uint64_t last, RowKeys<Group, Items, Values, Key>& items, V* values)
{
  const int lane = threadIdx.x % Group;
#pragma unroll
  for (int i = 0; i < Items; ++i)
    items.key[i] = items.none;
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
    from -= start;
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      if (Group == 32 && (i * Group + Group <= done || i * Group >= done + total))
        continue; // true for all lanes or none
      const int position = i * Group + lane - done;
      const int owner = ownerOf<Group>(position, start);
      const std::uint64_t at = __shfl_sync(~0u, from, owner, Group) + position;
      V factor = 0;
      if constexpr (Values)
        factor = __shfl_sync(~0u, ofA, owner, Group);
      if (position >= 0 && position < total) {
        items.key[i] = items.keyOf(b.column[at], i * Group + lane);
        if constexpr (Values)
          values[i * Group + lane] = multiplyAdd(ring, factor, b.value[at], Ring::zero);
      }
    }
    done += total;
  }
}

/// Sorts the keys of the group in rising order; afterwards the key at position lane * Items + i is item i of
/// that lane. Batcher's bitonic network: the first step of each merge compares a run with the reversed next
/// one, so that every step puts the smaller key first. Source: K. E. Batcher: Sorting networks and their
/// applications, 1968.
template <int Group, int Items, bool Values, class Key>
__device__ void sortItems(RowKeys<Group, Items, Values, Key>& items)
{
  const int lane = threadIdx.x % Group;
  const auto inLane = [&](int low, int high) {
    const Key first = min(items.key[low], items.key[high]);
    items.key[high] = max(items.key[low], items.key[high]);
    items.key[low] = first;
  };
  const auto withLane = [&](Key& own, Key other, int lanes) {
    own = (lane & lanes) == 0 ? min(own, other) : max(own, other);
  };
#pragma unroll
  for (int size = 2; size <= Group * Items; size *= 2) {
    if (size <= Items) {
#pragma unroll
      for (int i = 0; i < Items; ++i)
        if ((i & (size / 2)) == 0)
          inLane(i, i ^ (size - 1));
    } else {
      Key others[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i)
        others[i] = __shfl_xor_sync(~0u, items.key[Items - 1 - i], size / Items - 1);
#pragma unroll
      for (int i = 0; i < Items; ++i)
        withLane(items.key[i], others[i], size / 2 / Items);
    }
#pragma unroll
    for (int distance = size / 4; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < Items; ++i) {
        if (distance >= Items)
          withLane(items.key[i], __shfl_xor_sync(~0u, items.key[i], distance / Items), distance / Items);
        else if ((i & distance) == 0)
          inLane(i, i + distance);
      }
    }
  }
}

/// Stands behind every column of a matrix.
constexpr std::uint32_t noColumn = 0xffffffff;

/// The products of a lane in sorted order.
template <int Items, class V>
struct SortedItems {
  std::uint32_t column[Items];
  V value[Items];
};

/// The number of columns that occur in this lane for the first time.
template <int Items>
__device__ int columnsThatStart(const std::uint32_t (&column)[Items], int lane, std::uint32_t columnBefore)
{
  int heads = 0;
#pragma unroll
  for (int i = 0; i < Items; ++i)
    heads += column[i] != noColumn
             && (i > 0 ? column[i] != column[i > 0 ? i - 1 : 0] : lane == 0 || column[0] != columnBefore);
  return heads;
}

/// Adds up the values of equal columns from left to right within the lane. Returns the sum of the run of
/// equal columns that ends in the lane before.
template <int Group, int Items, class V, class Ring>
__device__ V sumRuns(Ring& ring, SortedItems<Items, V>& items)
{
  const int lane = threadIdx.x % Group;
#pragma unroll
  for (int i = 1; i < Items; ++i)
    if (items.column[i] == items.column[i - 1])
      items.value[i] = ring.add(items.value[i - 1], items.value[i]);
  V sum = items.value[Items - 1];
  bool goesOn =
      items.column[0]
      == items.column[Items - 1]; // then the run at the end of this lane may begin in an earlier lane
#pragma unroll
  for (int distance = 1; distance < Group; distance *= 2) {
    const V before = __shfl_up_sync(~0u, sum, distance, Group);
    const std::uint32_t columnBefore = __shfl_up_sync(~0u, items.column[Items - 1], distance, Group);
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

/// Calls body(lanes for each row, products for each lane, rows, number of the block within the bin) for the
/// bin that this block belongs to.
template <class Body>
__device__ __forceinline__ void forSortedBin(const SortedBins& bins, Body&& body)
{
  const auto of = [&](auto lanes, auto items, int bin) {
    body(lanes, items, bins.rows[bin], blockIdx.x - bins.firstBlock[bin]);
  };
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

/// The place where a row of so many entries begins, one row for each group of lanes. `isMade` says whether
/// there is a row; it becomes false if the row must not be written. All threads of the block must call it.
template <int Group, class V>
__device__ __forceinline__ std::uint64_t placeOfRow(const RowTarget<V>& c, std::uint32_t row, int entries,
                                                    bool& isMade)
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

/// Computes a row by a group of lanes, unless `isMade` is false. `values` is shared memory of the group. All
/// threads of the block must call it.
/// load all products as keys and values; sort the keys
/// add up the values of equal columns from left to right, first within lanes, then across lanes
/// the number of columns before an entry is its place in the row; write columns and sums there
template <int Group, int Items, class Key, class V, class Ring>
__device__ __forceinline__ void multiplySortedRow(Ring& ring, const CsrView<V>& a, const CsrView<V>& b,
                                                  bool isMade, std::uint32_t row, V* values,
                                                  const RowTarget<V>& c)
{
  const int lane = threadIdx.x % Group;
  RowKeys<Group, Items, true, Key> keys;
  expandRow(ring, a, b, isMade ? a.rowStart[row] : 0, isMade ? a.rowStart[row + 1] : 0, keys, values);
  sortItems(keys);
  __syncwarp(); // the values are in shared memory now
  SortedItems<Items, V> items;
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const bool has = keys.key[i] != keys.none;
    items.column[i] = has ? keys.column(i) : noColumn;
    items.value[i] = has ? values[keys.place(i)] : Ring::zero;
  }
  const std::uint32_t columnBefore = __shfl_up_sync(~0u, items.column[Items - 1], 1, Group);
  const std::uint32_t columnBehind = __shfl_down_sync(~0u, items.column[0], 1, Group);
  const int heads = columnsThatStart(items.column, lane, columnBefore),
            headsTillHere = groupInclusive<Group>(heads);
  const V carry = sumRuns<Group>(ring, items);
  const int entries = __shfl_sync(~0u, headsTillHere, Group - 1, Group);
  std::uint64_t to = placeOfRow<Group>(c, row, entries, isMade)
                     + (headsTillHere - heads); // one more than the place of the run
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const std::uint32_t column = items.column[i];
    if (!isMade || column == noColumn)
      continue;
    const bool goesOn = lane > 0 && column == columnBefore; // the run began in an earlier lane
    to += i > 0 ? column != items.column[i > 0 ? i - 1 : 0] : !goesOn;
    const bool ends = i + 1 < Items ? items.column[i + 1 < Items ? i + 1 : i] != column
                                    : lane == Group - 1 || columnBehind != column;
    if (ends) {
      c.column[to - 1] = column;
      c.value[to - 1] = goesOn ? ring.add(carry, items.value[i]) : items.value[i];
    }
  }
}

/// Computes rows of at most 128 products; a group of lanes for each row. Memory traffic: reads 4 bytes for
/// each row, 8 + sizeof(V) for each entry of A and 4 + sizeof(V) for each product; writes 4 + sizeof(V) for
/// each entry of C.
template <class V, class Ring, class Key>
__global__ void __launch_bounds__(sorterThreads)
    multiplySortedRows(CsrView<V> a, CsrView<V> b, SortedBins bins, RowTarget<V> c)
{
  constexpr int maxItems = 4;
  __shared__ V values[sorterThreads * maxItems];
  Ring ring;
  forSortedBin(bins, [&](auto lanes, auto itemsALane, const RowList& rows, unsigned block) {
    constexpr int Group = lanes(), Items = itemsALane();
    static_assert(Items <= maxItems);
    const std::uint32_t task = (block * sorterThreads + threadIdx.x) / Group;
    const bool isRow = task < rows.count;
    multiplySortedRow<Group, Items, Key>(ring, a, b, isRow, isRow ? rows.list[task] : 0,
                                         values + threadIdx.x / Group * Group * Items, c);
  });
  c.report(ring);
}

/// Computes rows of at most 32 Items products with keys of 32 bits; a warp for each row. Memory traffic as
/// above.
template <class V, class Ring, int Items>
__global__ void __launch_bounds__(sorterThreads)
    multiplyWideRows(CsrView<V> a, CsrView<V> b, RowList rows, RowTarget<V> c)
{
  __shared__ V values[sorterThreads * Items];
  Ring ring;
  const std::uint32_t task = (blockIdx.x * sorterThreads + threadIdx.x) / 32;
  const bool isRow = task < rows.count;
  multiplySortedRow<32, Items, std::uint32_t>(ring, a, b, isRow, isRow ? rows.list[task] : 0,
                                              values + threadIdx.x / 32 * 32 * Items, c);
  c.report(ring);
}

}
