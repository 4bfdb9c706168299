#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// Threads of blocks that count products.
constexpr int counterThreads = 256, counterWarps = counterThreads / 32;

/// Sum over the block, added to *total.
__device__ inline void addToTotal(unsigned long long value, unsigned long long& ofBlock,
                                  unsigned long long* total)
{
  value = groupSum<32>(value);
  if (threadIdx.x % 32 == 0 && value > 0)
    atomicAdd(&ofBlock, value);
  __syncthreads();
  if (threadIdx.x == 0 && ofBlock > 0)
    atomicAdd(total, ofBlock);
}

/// Entries of the row of B that entry `e` of A meets.
__device__ __forceinline__ unsigned productsOfEntry(const PatternView& a, const std::uint64_t* rowStartOfB,
                                                    std::uint64_t e)
{
  const std::uint32_t k = a.column[e];
  return static_cast<unsigned>(rowStartOfB[k + 1] - rowStartOfB[k]);
}

/// Entries of B that entries [first, last) of A meet, of which this is thread `rank` of `count`.
__device__ __forceinline__ unsigned long long productsOf(const PatternView& a,
                                                         const std::uint64_t* rowStartOfB,
                                                         std::uint64_t first, std::uint64_t last, int rank,
                                                         int count)
{
  unsigned long long sum = 0;
#pragma unroll 4
  for (std::uint64_t e = first + rank; e < last; e += count)
    sum += productsOfEntry(a, rowStartOfB, e);
  return sum;
}

/// Products of the rows of lanes from `firstLane` on, which are neighbours and have entries [first, last) of
/// A, each up to its `end`: the warp goes through them side by side, and a row's products are the difference
/// of two sums over all before.
__device__ inline unsigned long long productsOfRows(const PatternView& a, const std::uint64_t* rowStartOfB,
                                                    std::uint64_t end, int firstLane, std::uint64_t first,
                                                    std::uint64_t last)
{
  constexpr int together = 4; // loads under way
  const int lane = threadIdx.x % 32;
  unsigned long long before = 0,
                     tillEnd =
                         0; // products of entries before these; of those up to the end of the lane's row
  for (std::uint64_t from = first; from < last; from += 32 * together) {
    unsigned products[together];
#pragma unroll
    for (int u = 0; u < together; ++u) {
      const std::uint64_t e = from + 32 * u + lane;
      products[u] = e < last ? productsOfEntry(a, rowStartOfB, e) : 0;
    }
#pragma unroll
    for (int u = 0; u < together; ++u) {
      const std::uint64_t begin = from + 32 * u;
      if (begin >= last)
        continue; // all lanes
      unsigned long long inclusive = products[u];
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned long long others = __shfl_up_sync(~0u, inclusive, distance);
        inclusive += lane >= distance ? others : 0;
      }
      const unsigned long long atEnd = __shfl_sync(~0u, inclusive, static_cast<int>(end - begin - 1) & 31);
      if (end > begin && end <= begin + 32)
        tillEnd = before + atEnd;
      before += __shfl_sync(~0u, inclusive, 31);
    }
  }
  const unsigned long long ofRowsBefore = __shfl_up_sync(~0u, tillEnd, 1);
  return lane == firstLane ? tillEnd : tillEnd - ofRowsBefore;
}

/// Where products of rows are counted to.
struct ProductCounts {
  std::uint32_t *products, *rowCounts, *tilesOfA;
  AnalysisTotals* totals;
};

/// Products of each row of A B, their sum and that of the entries that C may have; a warp `rowsAWarp`
/// neighbouring rows, the block one row after the other of those that are very long. The block is one of
/// `blocks`. Reads 4 bytes an entry of A and 16 of the row starts of B for it, and 16 a row; writes 8 a row.
__device__ inline void countProducts(const PatternView& a, const std::uint64_t* rowStartOfB,
                                     std::size_t columnsOfB, int rowsAWarp, unsigned block, unsigned blocks,
                                     const ProductCounts& counts)
{
  constexpr std::uint64_t veryLongRow = 1024;
  constexpr int mostVeryLong = 64; // of a block, together; a warp alone counts others
  __shared__ unsigned long long productsOfBlock, boundOfBlock, productsOfLong[mostVeryLong];
  __shared__ std::size_t longRows[mostVeryLong];
  __shared__ int longRowCount;
  if (threadIdx.x == 0) {
    productsOfBlock = boundOfBlock = 0;
    longRowCount = 0;
  }
  __syncthreads();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned long long all = 0, bound = 0;
  const auto found = [&](std::size_t row, unsigned long long sum) {
    counts.products[row] = static_cast<std::uint32_t>(min(sum, 0xffffffffull));
    counts.rowCounts[row] = 0;
    all += sum;
    bound += min(sum, static_cast<unsigned long long>(columnsOfB));
  };
  const std::size_t rowsABlock = std::size_t{counterWarps} * rowsAWarp;
  for (std::size_t first = block * rowsABlock + warp * rowsAWarp; first < a.rows;
       first += blocks * rowsABlock) {
    const std::size_t behind = min(first + rowsAWarp, a.rows), row = min(first + lane, behind),
                      next = min(row + 1, behind);
    const std::uint64_t start = a.rowStart[row], end = a.rowStart[next];
    const int rows = static_cast<int>(behind - first);
    const unsigned longOnes = __ballot_sync(~0u, end - start >= veryLongRow);
    for (int firstLane = 0; firstLane < rows; ++firstLane) {
      const unsigned longAhead = longOnes >> firstLane;
      const int lastLane =
          longAhead == 0 ? rows
                         : firstLane + __ffs(static_cast<int>(longAhead)) - 1; // a very long row, or the end
      const std::uint64_t from = __shfl_sync(~0u, start, firstLane),
                          to = __shfl_sync(~0u, end, max(lastLane - 1, 0));
      if (lastLane > firstLane) {
        const unsigned long long sum = productsOfRows(a, rowStartOfB, end, firstLane, from, to);
        if (lane >= firstLane && lane < lastLane)
          found(row, sum);
      }
      firstLane = lastLane;
      if (lastLane == rows)
        break;
      int place = 0;
      if (lane == 0)
        place = atomicAdd(&longRowCount, 1);
      place = __shfl_sync(~0u, place, 0);
      if (place < mostVeryLong) {
        if (lane == 0) {
          longRows[place] = first + lastLane;
          productsOfLong[place] = 0;
        }
        continue;
      }
      const std::uint64_t startOfLong = __shfl_sync(~0u, start, lastLane),
                          endOfLong = __shfl_sync(~0u, end, lastLane);
      const unsigned long long sum =
          groupSum<32>(productsOf(a, rowStartOfB, startOfLong, endOfLong, lane, 32));
      if (lane == lastLane)
        found(row, sum);
    }
  }
  __syncthreads();
  const int longCount = min(longRowCount, mostVeryLong);
  for (int i = 0; i < longCount; ++i) {
    const std::size_t row = longRows[i];
    const unsigned long long ofWarp = groupSum<32>(
        productsOf(a, rowStartOfB, a.rowStart[row], a.rowStart[row + 1], threadIdx.x, counterThreads));
    if (lane == 0)
      atomicAdd(&productsOfLong[i], ofWarp);
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < longCount)
    found(longRows[threadIdx.x], productsOfLong[threadIdx.x]);
  if (block == 0 && threadIdx.x == 0)
    counts.rowCounts[a.rows] = 0;
  addToTotal(all, productsOfBlock, &counts.totals->products);
  addToTotal(bound, boundOfBlock, &counts.totals->entriesBound);
}

}
