#include "Core/Sparse/TilesOnCuda.h"

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/ColumnWindow.cuh"
#include "Core/Sparse/ProductAnalysisOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threads = 64, tilesAtOnce = 128;

/// Where the number of row r and column c stands among the 64 of a tile.
__device__ int placeInTile(int r, int c)
{
  return 2 * (4 * c + r % 4) + r / 4;
}

struct Memory {
  ColumnWindow<threads> window;
  unsigned patterns[tilesAtOnce][2]; // low and high halves
  std::uint64_t rowEnd[tileSide];
};

/// Calls body(slot, row of the tile, entry) for the entries whose tiles are [first, first + count) of the window.
template <class Body>
__device__ void forEntriesOfTiles(const Memory& shared, const PatternView& matrix, std::uint64_t firstEntry,
                                  std::uint64_t lastEntry, int lowest, int words, int first, int count, Body&& body)
{
  for (std::uint64_t e = firstEntry + threadIdx.x; e < lastEntry; e += threads) {
    int column = static_cast<int>(matrix.column[e] >> 3);
    if (!inWindow(column, lowest, words))
      continue;
    const int slot = shared.window.rank(column) - first;
    if (slot < 0 || slot >= count)
      continue;
    int row = 0;
#pragma unroll
    for (int r = 0; r < 7; ++r)
      row += e >= shared.rowEnd[r];
    body(slot, row, e);
  }
}

/// A block a group of 8 rows. Reads 4 bytes an entry twice and sizeof(V) once, writes 12 + 64 sizeof(V) bytes a tile.
template <class V>
__global__ void __launch_bounds__(threads) fillTiles(CsrView<V> matrix, const std::uint32_t* tileStarts, std::uint32_t* tileColumns,
                                                     TilePattern* tilePatterns, TilePair<V>* pairs, std::uint32_t* notFinite)
{
  __shared__ Memory shared;
  const std::size_t group = blockIdx.x, firstRow = group * tileSide;
  const std::uint64_t firstEntry = matrix.rowStart[firstRow], lastEntry = matrix.rowStart[min(firstRow + tileSide, matrix.rows)];
  shared.window.findRange([&](auto&& report) {
    if (threadIdx.x >= tileSide)
      return;
    const std::uint64_t start = matrix.rowStart[min(firstRow + threadIdx.x, matrix.rows)];
    const std::uint64_t end = matrix.rowStart[min(firstRow + threadIdx.x + 1, matrix.rows)];
    shared.rowEnd[threadIdx.x] = end;
    if (start < end)
      report(static_cast<int>(matrix.column[start] >> 3), static_cast<int>(matrix.column[end - 1] >> 3));
  });
  std::uint32_t next = tileStarts[group];
  forWindows(shared.window, [&](int lowest, int words) {
    shared.window.clear(words);
    for (std::uint64_t e = firstEntry + threadIdx.x; e < lastEntry; e += threads) {
      int column = static_cast<int>(matrix.column[e] >> 3);
      if (inWindow(column, lowest, words))
        shared.window.insert(column);
    }
    const int tiles = shared.window.countAndRank(words);
    for (int first = 0; first < tiles; first += tilesAtOnce) {
      const int count = min(tilesAtOnce, tiles - first);
      const std::size_t firstTile = next + first;
      for (int i = threadIdx.x; i < count; i += threads)
        shared.patterns[i][0] = shared.patterns[i][1] = 0;
      for (int i = threadIdx.x; i < 32 * count; i += threads)
        pairs[firstTile * 32 + i] = {0, 0};
      __syncthreads();
      forEntriesOfTiles(shared, matrix, firstEntry, lastEntry, lowest, words, first, count,
                        [&](int slot, int row, std::uint64_t e) {
                          const int column = static_cast<int>(matrix.column[e] & 7);
                          atomicOr(&shared.patterns[slot][row / 4], 1u << (row % 4 * 8 + column));
                          const V value = matrix.value[e];
                          reinterpret_cast<V*>(pairs + (firstTile + slot) * 32)[placeInTile(row, column)] = value;
                          if (!isfinite(value))
                            *notFinite = 1;
                          tileColumns[firstTile + slot] = matrix.column[e] >> 3; // the same by every entry of the tile
                        });
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += threads)
        tilePatterns[firstTile + i] = TilePattern{shared.patterns[i][1]} << 32 | shared.patterns[i][0];
      __syncthreads();
    }
    next += tiles;
  });
}

}

template <class V>
TilesOnCuda<V>::TilesOnCuda(const Context& context, std::size_t rows, std::uint32_t tiles)
    : rowStart(context, ceilDiv(rows, tileSide) + 1), column(context, std::max(tiles, 1u)), pattern(context, std::max(tiles, 1u)),
      pairs(context, std::size_t{32} * std::max(tiles, 1u))
{
}

template <class V>
std::uint64_t TilesOnCuda<V>::bytes(std::size_t rows, std::uint64_t tiles)
{
  return (ceilDiv(rows, tileSide) + 1) * sizeof(std::uint32_t)
         + tiles * (sizeof(std::uint32_t) + sizeof(TilePattern) + 32 * sizeof(TilePair<V>));
}

template <class V>
TilesOnCuda<V> makeTilesOnCuda(const Context& context, const CsrView<V>& matrix, const std::uint32_t* tilesOfGroups,
                               std::uint32_t tiles, std::uint32_t* notFinite)
{
  TilesOnCuda<V> made(context, matrix.rows, tiles);
  const std::size_t groups = ceilDiv(matrix.rows, tileSide);
  scanOnCuda(context, groups, tilesOfGroups, made.rowStart.span().data());
  fillTiles<V><<<static_cast<unsigned>(groups), threads, 0, cudaStreamOf(context)>>>(
      matrix, made.rowStart.span().data(), made.column.span().data(), made.pattern.span().data(), made.pairs.span().data(),
      notFinite);
  checkLaunch("tiles of a matrix");
  return made;
}

template struct TilesOnCuda<float>;
template struct TilesOnCuda<double>;
template TilesOnCuda<float> makeTilesOnCuda(const Context&, const CsrView<float>&, const std::uint32_t*, std::uint32_t,
                                            std::uint32_t*);
template TilesOnCuda<double> makeTilesOnCuda(const Context&, const CsrView<double>&, const std::uint32_t*, std::uint32_t,
                                             std::uint32_t*);

}
