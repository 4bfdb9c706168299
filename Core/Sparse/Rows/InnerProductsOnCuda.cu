#include "Core/Sparse/Rows/InnerProductsOnCuda.h"

#include "Core/Sparse/Analysis/CubMemory.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"
#include "Core/Sparse/Rows/RowPiecesOnCuda.cuh"
#include "Core/Sparse/Rows/RowRingOnCuda.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

namespace tessera {
namespace {

constexpr int innerThreads = 256;

/// The entries of B by columns: `rows` has a row for each column of B and the rows of its entries as its
/// columns; `entry` has the number of each in B.
struct ColumnsView {
  PatternView rows;
  const std::uint32_t* entry;
};

struct ColumnsOnCuda {
  Buffer<std::uint64_t> start;
  Buffer<std::uint32_t> row, entry;

  ColumnsView view() const
  {
    return {{start.size() - 1, 0, start.span().data(), row.span().data()}, entry.span().data()};
  }
};

/// The entries that work on an entry of C share `lanes` neighbouring lanes of a warp.
unsigned blocksFor(std::uint64_t entries, int lanes)
{
  return static_cast<unsigned>(
      std::max<std::uint64_t>(ceilDiv<std::uint64_t>(entries * lanes, innerThreads), 1));
}

/// The row of an entry.
__device__ std::size_t rowOf(const PatternView& matrix, std::uint64_t entry)
{
  std::size_t low = 0, high = matrix.rows;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (matrix.rowStart[middle] <= entry ? low : high) = middle;
  }
  return low;
}

/// Lists row and number of each entry. Memory traffic: writes 8 bytes for each entry.
__global__ void __launch_bounds__(innerThreads)
    numberEntries(PatternView b, std::uint64_t entries, std::uint64_t* rowAndEntry)
{
  const std::uint64_t e = blockIdx.x * std::uint64_t{innerThreads} + threadIdx.x;
  if (e < entries)
    rowAndEntry[e] = static_cast<std::uint64_t>(rowOf(b, e)) << 32 | e;
}

/// Takes the sorted list apart, and finds where each column begins. Memory traffic: reads and writes 8 bytes
/// for each entry.
__global__ void __launch_bounds__(innerThreads)
    partEntries(PatternView sorted, std::uint64_t entries, const std::uint64_t* rowAndEntry,
                std::uint64_t* start, std::uint32_t* row, std::uint32_t* entry)
{
  const std::uint64_t i = blockIdx.x * std::uint64_t{innerThreads} + threadIdx.x;
  if (i <= sorted.columns)
    start[i] = lowerBound(sorted, 0, entries, static_cast<std::uint32_t>(i));
  if (i < entries) {
    row[i] = static_cast<std::uint32_t>(rowAndEntry[i] >> 32);
    entry[i] = static_cast<std::uint32_t>(rowAndEntry[i]);
  }
}

/// A stable sort, so that rows rise in each column.
ColumnsOnCuda columnsOf(const Context& context, const PatternView& b, std::uint64_t entries)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const std::size_t room = std::max<std::uint64_t>(entries, 1);
  Buffer<std::uint64_t> given(context, room), sorted(context, room);
  Buffer<std::uint32_t> column(context, room);
  ColumnsOnCuda made{Buffer<std::uint64_t>(context, b.columns + 1), Buffer<std::uint32_t>(context, room),
                     Buffer<std::uint32_t>(context, room)};
  numberEntries<<<blocksFor(entries, 1), innerThreads, 0, stream>>>(b, entries, given.span().data());
  withCubMemory(context, "sorting entries by columns", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, b.column, column.span().data(), given.span().data(),
                                           sorted.span().data(), entries, 0, std::max(bitsFor(b.columns), 1),
                                           stream);
  });
  partEntries<<<blocksFor(std::max<std::uint64_t>(entries, b.columns + 1), 1), innerThreads, 0, stream>>>(
      {0, b.columns, nullptr, column.span().data()}, entries, sorted.span().data(), made.start.span().data(),
      made.row.span().data(), made.entry.span().data());
  checkLaunch("entries by columns");
  return made;
}

/// The lanes that share an entry of C.
struct EntryLanes {
  std::uint64_t entry; // counted from the first one of the view
  int lane, lanes;

  explicit __device__ EntryLanes(int count)
      : entry((blockIdx.x * std::uint64_t{innerThreads} + threadIdx.x) / count),
        lane(static_cast<int>(threadIdx.x) % count), lanes(count)
  {
  }
};

/// Calls body(whether two entries meet, that of A, that of B as its columns number it) for the candidates of
/// an entry (row, column) of C, in the order of k. Whole warps must call it and are together in the body.
template <class Body>
__device__ __forceinline__ void forMeetings(const PatternView& a, const PatternView& ofB, bool isThere,
                                            std::size_t row, std::uint32_t column, const EntryLanes& own,
                                            Body&& body)
{
  std::uint64_t from = 0, to = 0, low = 0, high = 0;
  bool walksA = true;
  if (isThere) {
    from = a.rowStart[row];
    to = a.rowStart[row + 1];
    low = ofB.rowStart[column];
    high = ofB.rowStart[column + 1];
    walksA = to - from <= high - low;
  }
  if (!walksA) {
    const std::uint64_t firstOfA = from, lastOfA = to;
    from = low;
    to = high;
    low = firstOfA;
    high = lastOfA;
  }
  const std::uint32_t* const walked = walksA ? a.column : ofB.column;
  const PatternView searched{0, 0, nullptr, walksA ? ofB.column : a.column};
  for (std::uint64_t base = from; __any_sync(~0u, base < to); base += own.lanes) {
    const std::uint64_t e = base + own.lane;
    std::uint64_t at = high;
    bool meets = false;
    if (e < to) {
      const std::uint32_t k = walked[e];
      at = lowerBound(searched, low, high, k);
      meets = at < high && searched.column[at] == k;
    }
    body(meets, walksA ? e : at, walksA ? at : e);
  }
}

/// Sum over the lanes of an entry, the same in each run.
template <class Ring, class V>
__device__ V sumOfLanes(Ring& ring, const EntryLanes& own, V sum)
{
  for (int distance = own.lanes / 2; distance > 0; distance /= 2)
    sum = ring.add(sum, __shfl_xor_sync(~0u, sum, distance));
  return sum;
}

/// Computes the entries of C in the rows of `wanted` and whether any products meet there. Memory traffic:
/// for each entry the shorter of a row of A and a column of B, and for each of its numbers a search.
template <class V, class Ring>
__global__ void __launch_bounds__(innerThreads)
    sumMeetings(CsrView<V> a, const V* valuesOfB, ColumnsView b, PatternView wanted, std::uint64_t entries,
                int lanes, V* values, std::uint8_t* met, std::uint32_t* overflowed)
{
  const EntryLanes own(lanes);
  const bool isThere = own.entry < entries;
  const std::uint64_t e = wanted.rowStart[0] + own.entry;
  Ring ring;
  V sum = Ring::zero;
  int any = 0;
  forMeetings(a, b.rows, isThere, isThere ? rowOf(wanted, e) : 0, isThere ? wanted.column[e] : 0, own,
              [&](bool meets, std::uint64_t ofA, std::uint64_t ofB) {
                if (meets)
                  sum = multiplyAdd(ring, a.value[ofA], valuesOfB[b.entry[ofB]], sum);
                any |= meets;
              });
  sum = sumOfLanes(ring, own, sum);
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    any |= __shfl_xor_sync(~0u, any, distance);
  if (isThere && own.lane == 0) {
    values[e] = sum;
    met[e] = static_cast<std::uint8_t>(any);
  }
  RowTarget<V>{nullptr, nullptr, nullptr, overflowed, {}}.report(ring);
}

/// Counts the products of each entry of C, and lists them if `pairs` is given. Memory traffic as above, and
/// writes 8 bytes for each product.
__global__ void __launch_bounds__(innerThreads)
    listMeetings(PatternView a, ColumnsView b, PatternView c, std::uint64_t entries, int lanes,
                 std::uint32_t* counts, const std::uint32_t* start, EntryPair* pairs)
{
  const EntryLanes own(lanes);
  const bool isThere = own.entry < entries;
  const int firstLane = static_cast<int>(threadIdx.x) % 32 - own.lane;
  std::uint32_t count = 0;
  EntryPair* const to = pairs && isThere ? pairs + start[own.entry] : nullptr;
  forMeetings(
      a, b.rows, isThere, isThere ? rowOf(c, own.entry) : 0, isThere ? c.column[own.entry] : 0, own,
      [&](bool meets, std::uint64_t ofA, std::uint64_t ofB) {
        const unsigned all = __ballot_sync(~0u, meets) >> firstLane & (~0u >> (32 - lanes));
        if (to && meets)
          to[count + __popc(all & bitsBefore(own.lane))] = {static_cast<std::uint32_t>(ofA), b.entry[ofB]};
        count += __popc(all);
      });
  if (!pairs && isThere && own.lane == 0)
    counts[own.entry] = count;
}

/// Adds up the listed products of each entry of C. Memory traffic: reads 8 + 2 sizeof(V) bytes for each
/// product, and writes sizeof(V) for each entry.
template <class V, class Ring>
__global__ void __launch_bounds__(innerThreads)
    sumLists(const V* a, const V* b, const std::uint32_t* start, const EntryPair* pairs,
             std::uint64_t entries, int lanes, V* c, std::uint32_t* overflowed)
{
  const EntryLanes own(lanes);
  const bool isThere = own.entry < entries;
  Ring ring;
  V sum = Ring::zero;
  const std::uint32_t last = isThere ? start[own.entry + 1] : 0;
#pragma unroll 4
  for (std::uint32_t i = isThere ? start[own.entry] + own.lane : 0; i < last; i += lanes)
    sum = multiplyAdd(ring, a[pairs[i].ofA], b[pairs[i].ofB], sum);
  sum = sumOfLanes(ring, own, sum);
  if (isThere && own.lane == 0)
    c[own.entry] = sum;
  RowTarget<V>{nullptr, nullptr, nullptr, overflowed, {}}.report(ring);
}

/// The lanes for each entry of C that has so many candidates or products on average.
int lanesFor(std::uint64_t all, std::uint64_t entries)
{
  const std::uint64_t mean = all / std::max<std::uint64_t>(entries, 1);
  return mean < 6 ? 1 : mean < 16 ? 4 : mean < 64 ? 8 : 32;
}

}

template <class V>
CsrOnCuda<V> innerProductsOnCuda(const Context& context, Semiring semiring, const CsrView<V>& a,
                                 const CsrView<V>& b, std::uint64_t entriesOfB, const PatternView& mask,
                                 std::uint64_t maskEntries, std::uint64_t entries)
{
  const ColumnsOnCuda ofB = columnsOf(context, b, entriesOfB);
  const std::size_t room = std::max<std::uint64_t>(maskEntries, 1);
  Buffer<V> values(context, room);
  Buffer<std::uint8_t> met(context, room);
  Buffer<std::uint32_t> overflowed(context, 1);
  context.stream->fill(overflowed.span().data(), 0, sizeof(std::uint32_t));
  constexpr int lanes = 8;
  withSemiring<V>(semiring, [&](auto ring) {
    sumMeetings<V, decltype(ring)><<<blocksFor(entries, lanes), innerThreads, 0, cudaStreamOf(context)>>>(
        a, b.value, ofB.view(), mask, entries, lanes, values.span().data(), met.span().data(),
        overflowed.span().data());
  });
  checkLaunch("inner products");
  if constexpr (std::is_same_v<V, std::int64_t>)
    checkOverflowOnCuda(context, overflowed.span().data());
  return keptWhereMet(context, CsrView<V>{mask, values.span().data()}, met.span().data());
}

ProductListsOnCuda::ProductListsOnCuda(const Context& context, const PatternView& a, const PatternView& b,
                                       std::uint64_t entriesOfB, const PatternView& c,
                                       std::uint64_t entriesOfC, std::uint64_t products)
    : lanes(lanesFor(products, entriesOfC)), start(context, entriesOfC + 1),
      pairs(context, std::max<std::uint64_t>(products, 1))
{
  const ColumnsOnCuda ofB = columnsOf(context, b, entriesOfB);
  Buffer<std::uint32_t> counts(context, entriesOfC + 1);
  const auto list = [&](EntryPair* to) {
    listMeetings<<<blocksFor(entriesOfC, lanes), innerThreads, 0, cudaStreamOf(context)>>>(
        a, ofB.view(), c, entriesOfC, lanes, counts.span().data(), start.span().data(), to);
    checkLaunch("lists of products");
  };
  list(nullptr);
  scanOnCuda(context, entriesOfC, counts.span().data(), start.span().data());
  list(pairs.span().data());
}

template <class V>
void multiplyByListsOnCuda(const Context& context, Semiring semiring, const ProductListsOnCuda& lists,
                           const V* a, const V* b, V* c, std::uint32_t* overflowed)
{
  const std::uint64_t entries = lists.start.size() - 1;
  withSemiring<V>(semiring, [&](auto ring) {
    sumLists<V, decltype(ring)><<<blocksFor(entries, lists.lanes), innerThreads, 0, cudaStreamOf(context)>>>(
        a, b, lists.start.span().data(), lists.pairs.span().data(), entries, lists.lanes, c, overflowed);
  });
  checkLaunch("products by lists");
}

#define TESSERA_FOR_VALUE(V)                                                                                 \
  template CsrOnCuda<V> innerProductsOnCuda(const Context&, Semiring, const CsrView<V>&, const CsrView<V>&,  \
                                            std::uint64_t, const PatternView&, std::uint64_t,                \
                                            std::uint64_t);                                                  \
  template void multiplyByListsOnCuda(const Context&, Semiring, const ProductListsOnCuda&, const V*,         \
                                      const V*, V*, std::uint32_t*);
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
