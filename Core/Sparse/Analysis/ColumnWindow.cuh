#pragma once

#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// The number of columns of tiles that one window covers.
constexpr int windowWords = 1024, windowColumns = 32 * windowWords;

/// A set of columns (of tiles) inside a window of neighbouring columns: one bit for each column, and for each
/// word of bits the number of columns before it. It lies in the shared memory of a block of `Threads`
/// threads.
template <int Threads>
struct ColumnWindow {
  unsigned mask[windowWords];
  std::uint16_t before[windowWords];
  int lowest, highest; // over all windows, see findRange

  /// Sets `lowest` and `highest` to the range of all columns that visit(report) reports by report(first
  /// column, last column).
  template <class Visit>
  __device__ void findRange(Visit&& visit)
  {
    __syncthreads(); // other threads may still read the last range
    if (threadIdx.x == 0) {
      lowest = 0x7fffffff;
      highest = -1;
    }
    __syncthreads();
    visit([&](int first, int last) {
      atomicMin(&lowest, first);
      atomicMax(&highest, last);
    });
    __syncthreads();
  }

  __device__ void clear(int words)
  {
    __syncthreads(); // other threads may still read the last set
    for (int w = threadIdx.x; w < words; w += Threads)
      mask[w] = 0;
    __syncthreads();
  }

  __device__ void insert(int column) { setBit(mask, column); }

  /// To be called after all insertions: returns the size of the set and makes `rank` usable.
  __device__ int countAndRank(int words)
  {
    __syncthreads();
    return rankBitsInBlock<Threads>(mask, before, words);
  }

  __device__ int rank(int column) const
  {
    return before[column >> 5] + __popc(mask[column >> 5] & bitsBefore(column));
  }
};

/// Calls body(lowest column, number of words) for windows that cover the range found.
template <int Threads, class Body>
__device__ __forceinline__ void forWindows(const ColumnWindow<Threads>& window, Body&& body)
{
  const int lowest = window.lowest, highest = window.highest;
  for (int first = lowest; first <= highest; first += windowColumns)
    body(first, min(windowWords, (highest - first) / 32 + 1));
}

/// Calls body(entry, its column) for entries [first, last) of a matrix. A block of `Threads` threads shares
/// them out; each thread loads eight columns before it uses the first, so that the loads overlap.
template <int Threads, class Body>
__device__ __forceinline__ void forEntriesOfBlock(const PatternView& matrix, std::uint64_t first,
                                                  std::uint64_t last, Body&& body)
{
  constexpr int together = 8;
  for (std::uint64_t e = first + threadIdx.x; e < last; e += together * Threads) {
    std::uint32_t column[together];
#pragma unroll
    for (int u = 0; u < together; ++u)
      if (e + u * Threads < last)
        column[u] = matrix.column[e + u * Threads];
#pragma unroll
    for (int u = 0; u < together; ++u)
      if (e + u * Threads < last)
        body(e + u * Threads, column[u]);
  }
}

/// Makes `column` relative to the window's first column. Returns true if it lies inside the window.
__device__ __forceinline__ bool inWindow(int& column, int lowest, int words)
{
  column -= lowest;
  return column >= 0 && column < 32 * words;
}

}
