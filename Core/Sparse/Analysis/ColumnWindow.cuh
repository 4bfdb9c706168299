#pragma once

#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// Columns of tiles that one window covers.
constexpr int windowWords = 1024, windowColumns = 32 * windowWords;

/// Which of some neighbouring columns of tiles have something, and how many do before each: a set in shared
/// memory of a block of `Threads` threads.
template <int Threads>
struct ColumnWindow {
  unsigned mask[windowWords];
  std::uint16_t before[windowWords];
  int lowest, highest; // of all columns, see findRange

  /// The range of columns for which visit(report) calls report(first column, last column).
  template <class Visit>
  __device__ void findRange(Visit&& visit)
  {
    __syncthreads(); // the range before may still be read
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
    __syncthreads(); // and the set before
    for (int w = threadIdx.x; w < words; w += Threads)
      mask[w] = 0;
    __syncthreads();
  }

  __device__ void insert(int column) { setBit(mask, column); }

  /// After all insertions: how many are in; then `rank` may be called.
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

/// Calls body(lowest, words) for windows that cover the range found.
template <int Threads, class Body>
__device__ __forceinline__ void forWindows(const ColumnWindow<Threads>& window, Body&& body)
{
  const int lowest = window.lowest, highest = window.highest;
  for (int first = lowest; first <= highest; first += windowColumns)
    body(first, min(windowWords, (highest - first) / 32 + 1));
}

/// Calls body(entry, its column) for entries [first, last) of a matrix, by a block of `Threads` threads;
/// loads are under way together.
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

/// Whether a column lies in a window; then `column` becomes that from the window's first one.
__device__ __forceinline__ bool inWindow(int& column, int lowest, int words)
{
  column -= lowest;
  return column >= 0 && column < 32 * words;
}

}
