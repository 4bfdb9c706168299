#pragma once

#include "Core/Sparse/Analysis/ColumnWindow.cuh"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Tiles/TilesOnCuda.h"

namespace tessera {

/// The number of tiles of C whose patterns are in shared memory at once.
constexpr int slotsAtOnce = 128;

/// Shared memory of a block of `Threads` threads that works on a row of tiles of C = A B: a window with the
/// columns where C has tiles, and columns and patterns of slotsAtOnce of these tiles.
template <int Threads>
struct TileRowPattern {
  ColumnWindow<Threads> window;
  TilePattern pattern[slotsAtOnce];
  int column[slotsAtOnce];

  /// Calls body(number of A's tile from firstOfA on, its pattern, first tile in the row of tiles of B, number
  /// of B's tile from there on) for all pairs of tiles with a common k. A warp takes a tile of A;
  /// neighbouring lanes take neighbouring tiles of B.
  template <class V, class Body>
  static __device__ void forPairs(const TileView<V>& a, std::uint32_t firstOfA, std::uint32_t lastOfA,
                                  const TileView<V>& b, Body&& body)
  {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (std::uint32_t i = firstOfA + warp; i < lastOfA; i += Threads / 32) {
      const std::uint32_t k = a.column[i];
      const TilePattern pattern = a.pattern[i];
      const std::uint32_t firstOfB = b.rowStart[k];
      const int count = static_cast<int>(b.rowStart[k + 1] - firstOfB);
      for (int j = lane; j < count; j += 32)
        body(static_cast<int>(i - firstOfA), pattern, firstOfB, j);
    }
  }

  template <class V>
  __device__ void findRange(const TileView<V>& a, std::uint32_t firstOfA, std::uint32_t lastOfA,
                            const TileView<V>& b)
  {
    window.findRange([&](auto&& report) {
      for (std::uint32_t i = firstOfA + threadIdx.x; i < lastOfA; i += Threads) {
        const std::uint32_t k = a.column[i], first = b.rowStart[k], last = b.rowStart[k + 1];
        if (first < last)
          report(static_cast<int>(b.column[first]), static_cast<int>(b.column[last - 1]));
      }
    });
  }

  /// Marks the columns of the window where C has a tile. Returns their number.
  template <class V>
  __device__ int mark(const TileView<V>& a, std::uint32_t firstOfA, std::uint32_t lastOfA,
                      const TileView<V>& b, int lowest, int words)
  {
    window.clear(words);
    forPairs(a, firstOfA, lastOfA, b, [&](int, TilePattern ofA, std::uint32_t firstOfB, int j) {
      int c = static_cast<int>(b.column[firstOfB + j]);
      if (inWindow(c, lowest, words) && patternsMeet(ofA, b.pattern[firstOfB + j]))
        window.insert(c);
    });
    return window.countAndRank(words);
  }

  /// Does the same for kept tiles. `lowest` is the column of the first one.
  __device__ int markKept(const std::uint32_t* columns, int count, int lowest, int words)
  {
    window.clear(words);
    for (int i = threadIdx.x; i < count; i += Threads)
      window.insert(static_cast<int>(columns[i]) - lowest);
    return window.countAndRank(words);
  }

  /// Brings columns and patterns of `count` kept tiles to shared memory.
  __device__ void bringPatterns(const std::uint32_t* columns, const TilePattern* patterns, int count)
  {
    for (int i = threadIdx.x; i < count; i += Threads) {
      column[i] = static_cast<int>(columns[i]);
      pattern[i] = patterns[i];
    }
    __syncthreads();
  }

  /// Finds columns and patterns of tiles [first, first + count) of the window.
  template <class V>
  __device__ void findPatterns(const TileView<V>& a, std::uint32_t firstOfA, std::uint32_t lastOfA,
                               const TileView<V>& b, int lowest, int words, int first, int count)
  {
    for (int i = threadIdx.x; i < count; i += Threads)
      pattern[i] = 0;
    __syncthreads();
    forPairs(a, firstOfA, lastOfA, b, [&](int, TilePattern ofA, std::uint32_t firstOfB, int j) {
      int c = static_cast<int>(b.column[firstOfB + j]);
      if (!inWindow(c, lowest, words))
        return;
      const TilePattern product = multiplyPatterns(ofA, b.pattern[firstOfB + j]);
      if (product == 0)
        return;
      const int slot = window.rank(c) - first;
      if (slot < 0 || slot >= count)
        return;
      unsigned* const halves = reinterpret_cast<unsigned*>(pattern + slot);
      if (static_cast<unsigned>(product) != 0)
        atomicOr(halves, static_cast<unsigned>(product));
      if (product >> 32 != 0)
        atomicOr(halves + 1, static_cast<unsigned>(product >> 32));
      column[slot] = lowest + c;
    });
    __syncthreads();
  }
};

/// Row `r` of a pattern; bit c belongs to column c.
__device__ __forceinline__ unsigned rowOfPattern(TilePattern pattern, int r)
{
  return static_cast<unsigned>(pattern >> 8 * r) & 0xffu;
}

/// For each of `count` tiles and each row: sets rows[tile][row] to the row's pattern << 16 | the number of
/// the row's entries in the tiles before. Sets sums[row] to the row's entries in all tiles. All threads of
/// the block must call it; it has no barriers.
template <int Threads>
__device__ void rankEntries(const TilePattern* patterns, int count, std::uint32_t (*rows)[tileSide],
                            int* sums)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int r = warp; r < static_cast<int>(tileSide); r += Threads / 32) {
    int before = 0;
    for (int first = 0; first < count; first += 32) {
      const int slot = first + lane;
      const unsigned pattern = slot < count ? rowOfPattern(patterns[slot], r) : 0;
      int ofWarp = 0;
      const int own = warpExclusive(__popc(pattern), ofWarp);
      if (slot < count)
        rows[slot][r] = pattern << 16 | (before + own);
      before += ofWarp;
    }
    if (lane == 0)
      sums[r] = before;
  }
}

}
