#include "Core/Sparse/Tiles/TilesOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/RangeAnalysisOnCuda.h"
#include "Core/Sparse/Tiles/TileEntriesOnCuda.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int markThreads = 256;

/// The place of row r and column c among the 64 numbers of a tile.
__device__ int placeInTile(int r, int c)
{
  return 2 * (4 * c + r % 4) + r / 4;
}

/// Fills the tiles of a group of 8 rows; a block for each group. Memory traffic: reads 4 bytes for each entry
/// twice and sizeof(V) once; writes 12 bytes and 64 numbers for each tile.
template <class V>
__global__ void __launch_bounds__(tileEntryThreads)
    fillTiles(CsrView<V> matrix, const std::uint32_t* tileStarts, std::uint32_t* tileColumns,
              TilePattern* tilePatterns, TilePair<V>* pairs, std::uint32_t* notFinite,
              const std::uint8_t* wanted)
{
  if (wanted && !wanted[blockIdx.x])
    return;
  __shared__ TileEntries shared;
  forTilesOfGroup(shared, matrix, blockIdx.x, tileStarts[blockIdx.x],
                  [&](std::size_t firstTile, int count, auto&& forEntries) {
                    for (int i = threadIdx.x; i < 32 * count; i += tileEntryThreads)
                      pairs[firstTile * 32 + i] = {0, 0};
                    __syncthreads();
                    forEntries([&](int slot, int row, std::uint64_t e, std::uint32_t ofEntry) {
                      const int column = static_cast<int>(ofEntry & 7);
                      shared.addToPattern(slot, row, column);
                      const V value = matrix.value[e];
                      reinterpret_cast<V*>(pairs + (firstTile + slot) * 32)[placeInTile(row, column)] = value;
                      if (!isfinite(value))
                        *notFinite = 1;
                      tileColumns[firstTile + slot] = ofEntry >> 3; // all entries of the tile write the same
                    });
                    __syncthreads();
                    for (int i = threadIdx.x; i < count; i += tileEntryThreads)
                      tilePatterns[firstTile + i] = shared.pattern(i);
                  });
}

/// Marks the groups of rows of B that rows of A meet; a warp for each row. Memory traffic: reads 4 bytes for
/// each entry, and a byte for each entry whose group differs from that of the entry before.
__global__ void __launch_bounds__(markThreads)
    markGroups(PatternView a, std::size_t firstGroup, std::uint8_t* wanted)
{
  const std::size_t row = blockIdx.x * std::size_t{markThreads / 32} + threadIdx.x / 32;
  if (row >= a.rows)
    return;
  if (threadIdx.x % 32 == 0)
    wanted[firstGroup + row / tileSide] = 1;
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  constexpr int together = 4; // loads that overlap
  for (std::uint64_t e = first + threadIdx.x % 32; e < last; e += 32 * together) {
    std::uint32_t group[together], before[together];
#pragma unroll
    for (int u = 0; u < together; ++u)
      if (const std::uint64_t at = e + 32 * u; at < last) {
        group[u] = a.column[at] >> 3;
        before[u] = at > first ? a.column[at - 1] >> 3 : ~0u;
      }
#pragma unroll
    for (int u = 0; u < together; ++u)
      if (e + 32 * u < last && group[u] != before[u] && !wanted[group[u]])
        wanted[group[u]] = 1;
  }
}

}

Buffer<std::uint8_t> wantedGroupsOnCuda(const Context& context, const PatternView& a, std::size_t firstGroup,
                                        std::size_t groups)
{
  Buffer<std::uint8_t> wanted(context, groups);
  context.stream->fill(wanted.span().data(), 0, groups);
  markGroups<<<static_cast<unsigned>(ceilDiv<std::size_t>(a.rows, markThreads / 32)), markThreads, 0,
               cudaStreamOf(context)>>>(a, firstGroup, wanted.span().data());
  checkLaunch("groups of rows that are met");
  return wanted;
}

template <class V>
TilesOnCuda<V>::TilesOnCuda(const Context& context, std::size_t rows, std::uint32_t tiles)
    : rowStart(context, ceilDiv(rows, tileSide) + 1), column(context, std::max(tiles, 1u)),
      pattern(context, std::max(tiles, 1u)), pairs(context, std::size_t{32} * std::max(tiles, 1u))
{
}

template <class V>
std::uint64_t TilesOnCuda<V>::bytes(std::size_t rows, std::uint64_t tiles)
{
  return (ceilDiv(rows, tileSide) + 1) * sizeof(std::uint32_t)
         + tiles * (sizeof(std::uint32_t) + sizeof(TilePattern) + 32 * sizeof(TilePair<V>));
}

KeptTilesOnCuda::KeptTilesOnCuda(const Context& context, std::size_t rows, std::uint32_t room)
    : first(context, ceilDiv(rows, tileSide)), count(context, ceilDiv(rows, tileSide)), column(context, room),
      pattern(context, room)
{
}

KeptTileView KeptTilesOnCuda::view(unsigned long long* used)
{
  return {first.span().data(),
          count.span().data(),
          column.span().data(),
          pattern.span().data(),
          used,
          static_cast<std::uint32_t>(column.size())};
}

std::uint64_t KeptTilesOnCuda::bytes(std::size_t rows, std::uint32_t room)
{
  return ceilDiv(rows, tileSide) * 2 * sizeof(std::uint32_t)
         + room * (sizeof(std::uint32_t) + sizeof(TilePattern));
}

template <class V>
TilesOnCuda<V> makeTilesOnCuda(const Context& context, const CsrView<V>& matrix,
                               const std::uint32_t* tilesOfGroups, std::uint32_t tiles,
                               std::uint32_t* notFinite, const std::uint8_t* wanted)
{
  TilesOnCuda<V> made(context, matrix.rows, tiles);
  scanOnCuda(context, ceilDiv(matrix.rows, tileSide), tilesOfGroups, made.rowStart.span().data());
  refillTilesOnCuda(context, matrix, made, notFinite, wanted);
  return made;
}

template <class V>
void refillTilesOnCuda(const Context& context, const CsrView<V>& matrix, TilesOnCuda<V>& made,
                       std::uint32_t* notFinite, const std::uint8_t* wanted)
{
  const std::size_t groups = ceilDiv(matrix.rows, tileSide);
  fillTiles<V><<<static_cast<unsigned>(groups), tileEntryThreads, 0, cudaStreamOf(context)>>>(
      matrix, made.rowStart.span().data(), made.column.span().data(), made.pattern.span().data(),
      made.pairs.span().data(), notFinite, wanted);
  checkLaunch("tiles of a matrix");
}

template void refillTilesOnCuda(const Context&, const CsrView<float>&, TilesOnCuda<float>&, std::uint32_t*,
                                const std::uint8_t*);
template void refillTilesOnCuda(const Context&, const CsrView<double>&, TilesOnCuda<double>&, std::uint32_t*,
                                const std::uint8_t*);
template struct TilesOnCuda<float>;
template struct TilesOnCuda<double>;
template TilesOnCuda<float> makeTilesOnCuda(const Context&, const CsrView<float>&, const std::uint32_t*,
                                            std::uint32_t, std::uint32_t*, const std::uint8_t*);
template TilesOnCuda<double> makeTilesOnCuda(const Context&, const CsrView<double>&, const std::uint32_t*,
                                             std::uint32_t, std::uint32_t*, const std::uint8_t*);

}
