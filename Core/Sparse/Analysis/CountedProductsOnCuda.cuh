#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// The number of threads in blocks that count products.
constexpr int counterThreads = 256, counterWarps = counterThreads / 32;

/// Adds the values of all threads of the block to *total. `ofBlock` is in shared memory and 0 before.
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

/// The number of entries in the row of B that entry `e` of A is multiplied with.
__device__ __forceinline__ unsigned productsOfEntry(const PatternView& a, const std::uint64_t* rowStartOfB,
                                                    std::uint64_t e)
{
  const std::uint32_t k = a.column[e];
  return static_cast<unsigned>(rowStartOfB[k + 1] - rowStartOfB[k]);
}

/// One thread's part of the number of products of entries [first, last) of A; the thread has number `rank` of
/// `count`.
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

/// The number of products of each lane's row, by a whole warp. The lanes from `firstLane` on have
/// neighbouring rows, whose entries are [first, last) of A; `end` is the end of a lane's own row. The warp
/// goes through the entries side by side and keeps a running sum; a row's number is the difference of the
/// sums at its ends.
__device__ inline unsigned long long productsOfRows(const PatternView& a, const std::uint64_t* rowStartOfB,
                                                    std::uint64_t end, int firstLane, std::uint64_t first,
                                                    std::uint64_t last)
{
  constexpr int together = 4; // loads that overlap
  const int lane = threadIdx.x % 32;
  unsigned long long before = 0,
                     // The sum over the entries before the current ones, and the sum up to the end of the
                     // lane's row.
      tillEnd = 0;
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
        continue; // true for all lanes or none
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

/// Where countProducts writes its results.
struct ProductCounts {
  std::uint32_t *products, *rowCounts, *tilesOfA;
  AnalysisTotals* totals;
};

/// Counts the products of each row of A B, their total, and the total of the bounds on C's entries. A warp
/// takes `rowsAWarp` neighbouring rows; very long rows are left to the whole block, one after the other. The
/// block has number `block` of `blocks`. Memory traffic: reads 4 bytes for each entry of A and 16 for the row
/// starts of B that it needs, and 16 for each row; writes 8 for each row.
__device__ inline void countProducts(const PatternView& a, const std::uint64_t* rowStartOfB,
                                     std::size_t columnsOfB, int rowsAWarp, unsigned block, unsigned blocks,
                                     const ProductCounts& counts)
{
  constexpr std::uint64_t veryLongRow = 1024;
  constexpr int maxVeryLong = 64; // the block takes so many rows; further ones are counted by their warps
  __shared__ unsigned long long productsOfBlock, boundOfBlock, productsOfLong[maxVeryLong];
  __shared__ std::size_t longRows[maxVeryLong];
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
      const int lastLane = longAhead == 0 ? rows
                                          : firstLane + __ffs(static_cast<int>(longAhead))
                                                - 1; // the next very long row, or the end
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
      if (place < maxVeryLong) {
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
  const int longCount = min(longRowCount, maxVeryLong);
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
