#pragma once

#include "Core/Sparse/Analysis/ColumnWindow.cuh"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Tiles/TilePattern.h"

namespace tessera {

constexpr int tileEntryThreads = 64; // in a block that finds the tiles of a group of 8 rows
constexpr int tilesOfEntriesAtOnce = 128;

/// Shared memory of a block that finds the tiles of a group of 8 rows, some tiles at a time.
struct TileEntries {
  ColumnWindow<tileEntryThreads> window;
  unsigned patterns[tilesOfEntriesAtOnce][2]; // rows 0 to 3 and rows 4 to 7 of each tile
  std::uint64_t rowEnd[tileSide];

  __device__ TilePattern pattern(int slot) const
  {
    return TilePattern{patterns[slot][1]} << 32 | patterns[slot][0];
  }
  __device__ void addToPattern(int slot, int row, int column)
  {
    atomicOr(&patterns[slot][row / 4], 1u << (row % 4 * 8 + column));
  }
};

/// Finds the tiles of a group of 8 rows in the order of their columns, up to tilesOfEntriesAtOnce at a time,
/// and calls body(number of the first tile, number of tiles, forEntries) for them. Tiles are numbered from
/// `firstTile`. The body must fill shared.patterns, which are 0 before. forEntries(visit) calls visit(slot of
/// the tile, row in the tile, entry, column of the entry) for all entries of these tiles. All threads of the
/// block must call it; the body begins behind a barrier.
template <class Body>
__device__ void forTilesOfGroup(TileEntries& shared, const PatternView& matrix, std::size_t group,
                                std::uint32_t firstTile, Body&& body)
{
  const std::size_t firstRow = group * tileSide;
  const std::uint64_t firstEntry = matrix.rowStart[firstRow],
                      lastEntry = matrix.rowStart[min(firstRow + tileSide, matrix.rows)];
  shared.window.findRange([&](auto&& report) {
    if (threadIdx.x >= tileSide)
      return;
    const std::uint64_t start = matrix.rowStart[min(firstRow + threadIdx.x, matrix.rows)];
    const std::uint64_t end = matrix.rowStart[min(firstRow + threadIdx.x + 1, matrix.rows)];
    shared.rowEnd[threadIdx.x] = end;
    if (start < end)
      report(static_cast<int>(matrix.column[start] >> 3), static_cast<int>(matrix.column[end - 1] >> 3));
  });
  forWindows(shared.window, [&](int lowest, int words) {
    shared.window.clear(words);
    forEntriesOfBlock<tileEntryThreads>(matrix, firstEntry, lastEntry,
                                        [&](std::uint64_t, std::uint32_t ofEntry) {
                                          int column = static_cast<int>(ofEntry >> 3);
                                          if (inWindow(column, lowest, words))
                                            shared.window.insert(column);
                                        });
    const int tiles = shared.window.countAndRank(words);
    for (int first = 0; first < tiles; first += tilesOfEntriesAtOnce) {
      const int count = min(tilesOfEntriesAtOnce, tiles - first);
      for (int i = threadIdx.x; i < count; i += tileEntryThreads)
        shared.patterns[i][0] = shared.patterns[i][1] = 0;
      __syncthreads();
      body(firstTile + first, count, [&](auto&& visit) {
        forEntriesOfBlock<tileEntryThreads>(matrix, firstEntry, lastEntry,
                                            [&](std::uint64_t e, std::uint32_t ofEntry) {
                                              int column = static_cast<int>(ofEntry >> 3);
                                              if (!inWindow(column, lowest, words))
                                                return;
                                              const int slot = shared.window.rank(column) - first;
                                              if (slot < 0 || slot >= count)
                                                return;
                                              int row = 0;
#pragma unroll
                                              for (int r = 0; r < 7; ++r)
                                                row += e >= shared.rowEnd[r];
                                              visit(slot, row, e, ofEntry);
                                            });
      });
      __syncthreads();
    }
    firstTile += tiles;
  });
}

}
