#include "Core/Sparse/TSparse/TSparseKernels.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/TSparse/TSparseFragments.cuh"
#include "Core/Sparse/Tiles/TileProductOnCuda.cuh"

namespace tessera {
namespace {

constexpr int tsparseThreads = 128, tsparseWarps = tsparseThreads / 32, tilesABlock = 2 * tsparseWarps;
constexpr int tilesAtOnce = 128;

/// The counting kernel (thesis, section 3.6.2); a warp for two tiles of C.
/// for both tiles: sum up the products of tiles of ones and zeros over the tasks
/// the ballot of sums that are not 0 is the pattern of the tile of C; its set bits are its entries
/// Memory traffic: reads 24 bytes for the tiles of each task and 8 for the task; writes 12 for each tile of
/// C.
template <class Cores>
__global__ void __launch_bounds__(tsparseThreads)
    countEntries(BitmapTileView a, BitmapTileView b, TaskView tasks, TilePattern* patterns,
                 std::uint32_t* counts)
{
  __shared__ WarpOfTiles<Cores> shared[tsparseWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t firstTile = blockIdx.x * tilesABlock + 2 * warp;
  if (firstTile >= tasks.tiles)
    return;
  const TileSums sums = sumOfTasks(shared[warp], a, b, tasks, firstTile, OnesOfTiles{});
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    const unsigned even = __ballot_sync(~0u, sums.c[2 * t] != 0),
                   odd = __ballot_sync(~0u, sums.c[2 * t + 1] != 0);
    if (lane == 0 && firstTile + t < tasks.tiles) {
      patterns[firstTile + t] = interleaved(even, odd);
      counts[firstTile + t] = __popc(even) + __popc(odd);
    }
  }
}

/// The multiplication kernel (thesis, section 3.6.3); a warp for two tiles of C.
/// for both tiles: sum up the products of the tiles' values over the tasks
/// write the sums at the places of the pattern; if asked for, mark those that are not 0
/// Memory traffic: reads 24 bytes and the values of both tiles for each task, 16 for each tile of C; writes 4
/// for each entry of C.
template <class Cores>
__global__ void __launch_bounds__(tsparseThreads)
    multiplyTiles(BitmapTileView a, BitmapTileView b, TaskView tasks, const TilePattern* patterns,
                  const std::uint64_t* first, float* number, TilePattern* notZero)
{
  __shared__ WarpOfTiles<Cores> shared[tsparseWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t firstTile = blockIdx.x * tilesABlock + 2 * warp;
  if (firstTile >= tasks.tiles)
    return;
  const TileSums sums = sumOfTasks(shared[warp], a, b, tasks, firstTile, NumbersOfTiles{a.number, b.number});
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    const std::uint32_t tile = firstTile + t;
    const TilePattern pattern = tile < tasks.tiles ? patterns[tile] : 0;
    const auto own = static_cast<unsigned>(pattern >> 2 * lane) & 3;
    if (own != 0) {
      float* const to = number + first[tile] + __popcll(pattern & ((TilePattern{1} << 2 * lane) - 1));
      if (own & 1)
        to[0] = sums.c[2 * t];
      if (own & 2)
        to[own & 1] = sums.c[2 * t + 1];
    }
    if (notZero) {
      const unsigned even = __ballot_sync(~0u, (own & 1) && sums.c[2 * t] != 0);
      const unsigned odd = __ballot_sync(~0u, (own & 2) && sums.c[2 * t + 1] != 0);
      if (lane == 0 && tile < tasks.tiles)
        notZero[tile] = interleaved(even, odd);
    }
  }
}

/// Counts the entries of each row of C; a warp for each row of tiles. Memory traffic: reads 8 bytes for each
/// tile, writes 4 for each row.
__global__ void __launch_bounds__(tsparseThreads)
    countRows(TilesOfC c, std::uint32_t groups, std::size_t rows, std::uint32_t* rowCounts)
{
  const std::uint32_t group = blockIdx.x * tsparseWarps + threadIdx.x / 32;
  if (group >= groups)
    return;
  const int lane = threadIdx.x % 32;
  unsigned own[tileSide] = {};
  for (std::uint32_t tile = c.rowStart[group] + lane; tile < c.rowStart[group + 1]; tile += 32) {
    const TilePattern pattern = c.kept[tile];
#pragma unroll
    for (int r = 0; r < static_cast<int>(tileSide); ++r)
      own[r] += __popc(rowOfPattern(pattern, r));
  }
#pragma unroll
  for (int r = 0; r < static_cast<int>(tileSide); ++r) {
    const unsigned sum = groupSum<32>(own[r]);
    if (lane == 0 && group * tileSide + r < rows)
      rowCounts[group * tileSide + r] = sum;
  }
}

/// Writes the rows of C from its tiles; a block for each row of tiles, a warp for each tile. Memory traffic:
/// reads 24 bytes for each tile and 4 for each entry, writes 8 for each entry.
__global__ void __launch_bounds__(tsparseThreads)
    fillRows(TilesOfC c, std::size_t rows, const std::int32_t* rowExponent,
             const std::int32_t* columnExponent, const std::uint64_t* rowStart, std::uint32_t* columns,
             float* values)
{
  __shared__ TilePattern kept[tilesAtOnce];
  __shared__ std::uint32_t ranked[tilesAtOnce][tileSide];
  __shared__ int sums[tileSide];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, columnOfTile = lane % 4 * 2;
  const std::size_t rowOfC =
      min(blockIdx.x * tileSide + row, rows - 1); // rows behind the last have no entries
  const int exponent = rowExponent[rowOfC];
  std::uint64_t done = rowStart[rowOfC];
  const std::uint32_t last = c.rowStart[blockIdx.x + 1];
  for (std::uint32_t first = c.rowStart[blockIdx.x]; first < last; first += tilesAtOnce) {
    const int count = min(static_cast<std::uint32_t>(tilesAtOnce), last - first);
    for (int i = threadIdx.x; i < count; i += tsparseThreads)
      kept[i] = c.kept[first + i];
    __syncthreads();
    rankEntries<tsparseThreads>(kept, count, ranked, sums);
    __syncthreads();
    for (int slot = warp; slot < count; slot += tsparseWarps) {
      const std::uint32_t tile = first + slot;
      const unsigned state = ranked[slot][row], own = state >> 16 >> columnOfTile & 3;
      if (own == 0)
        continue;
      const std::uint64_t to = done + (state & 0xffffu) + __popc(state >> 16 & bitsBefore(columnOfTile));
      const TilePattern pattern = c.pattern[tile];
      const float* const from =
          c.number + c.first[tile] + __popcll(pattern & ((TilePattern{1} << 2 * lane) - 1));
      const std::uint32_t column = c.column[tile] * static_cast<std::uint32_t>(tileSide) + columnOfTile;
      const auto write = [&](std::uint64_t at, std::uint32_t columnOfEntry, float value) {
        columns[at] = columnOfEntry;
        values[at] = ldexpf(value, exponent + columnExponent[columnOfEntry]);
      };
      if (own & 1)
        write(to, column, from[0]);
      if (own & 2)
        write(to + (own & 1), column + 1, from[pattern >> 2 * lane & 1]);
    }
    done += sums[row];
    __syncthreads();
  }
}

TaskView viewOf(const TaskListOnCuda& list)
{
  return {list.tiles, list.firstTask.span().data(), list.task.span().data()};
}

}

void countTSparse(const Context& context, const BitmapTileView& a, const BitmapTileView& b,
                  const TaskListOnCuda& list, bool tensorCores, TilePattern* patterns, std::uint32_t* counts)
{
  const auto kernel = tensorCores ? countEntries<TensorCores> : countEntries<PlainCores>;
  kernel<<<ceilDiv<unsigned>(list.tiles, tilesABlock), tsparseThreads, 0, cudaStreamOf(context)>>>(
      a, b, viewOf(list), patterns, counts);
  checkLaunch("entries of tiles of C");
}

void multiplyTSparse(const Context& context, const BitmapTileView& a, const BitmapTileView& b,
                     const TaskListOnCuda& list, bool tensorCores, const TilePattern* patterns,
                     const std::uint64_t* first, float* number, TilePattern* notZero)
{
  const auto kernel = tensorCores ? multiplyTiles<TensorCores> : multiplyTiles<PlainCores>;
  kernel<<<ceilDiv<unsigned>(list.tiles, tilesABlock), tsparseThreads, 0, cudaStreamOf(context)>>>(
      a, b, viewOf(list), patterns, first, number, notZero);
  checkLaunch("products of tiles");
}

void countRowsOfTiles(const Context& context, const TilesOfC& c, std::size_t rows, std::uint32_t* rowCounts)
{
  const auto groups = static_cast<std::uint32_t>(ceilDiv(rows, tileSide));
  countRows<<<ceilDiv<unsigned>(groups, tsparseWarps), tsparseThreads, 0, cudaStreamOf(context)>>>(
      c, groups, rows, rowCounts);
  checkLaunch("entries of rows of tiles");
}

void fillRowsOfTiles(const Context& context, const TilesOfC& tiles, const std::int32_t* rowExponent,
                     const std::int32_t* columnExponent, CsrOnCuda<float>& c)
{
  fillRows<<<static_cast<unsigned>(ceilDiv(c.rows, tileSide)), tsparseThreads, 0, cudaStreamOf(context)>>>(
      tiles, c.rows, rowExponent, columnExponent, c.rowStart.span().data(), c.column.span().data(),
      c.value.span().data());
  checkLaunch("rows of tiles");
}

}
