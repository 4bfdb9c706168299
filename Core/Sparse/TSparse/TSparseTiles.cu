#include "Core/Sparse/TSparse/TSparseTiles.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Tiles/TileEntriesOnCuda.cuh"

#include <cuda_fp16.h>

#include <algorithm>

namespace tessera {
namespace {

struct Target {
  std::uint32_t *row, *column, *first;
  TilePattern* pattern;
  std::uint16_t* number;
};

/// Fills the tiles of a group of 8 rows; a block for each group. Memory traffic: reads 4 bytes for each entry
/// three times and 4 once; writes 20 bytes for each tile and 2 for each entry.
__global__ void __launch_bounds__(tileEntryThreads)
    fillBitmapTiles(CsrView<float> matrix, HalfScale scale, const std::uint32_t* tileStarts, Target to,
                    std::uint32_t* notFinite)
{
  __shared__ TileEntries shared;
  __shared__ int before[tilesOfEntriesAtOnce], ofWarps[tileEntryThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t group = blockIdx.x;
  std::uint64_t next =
      matrix.rowStart[group * tileSide] - matrix.rowStart[0]; // place of the next tile's values
  forTilesOfGroup(
      shared, matrix, group, tileStarts[group], [&](std::size_t firstTile, int count, auto&& forEntries) {
        forEntries([&](int slot, int row, std::uint64_t, std::uint32_t column) {
          shared.addToPattern(slot, row, static_cast<int>(column & 7));
          to.column[firstTile + slot] = column >> 3; // all entries of the tile write the same
        });
        __syncthreads();
        int sum = 0;
        for (int start = 0; start < count; start += tileEntryThreads) {
          const int slot = start + threadIdx.x;
          const TilePattern pattern = slot < count ? shared.pattern(slot) : 0;
          int ofWarp = 0, own = warpExclusive(__popcll(pattern), ofWarp);
          if (lane == 0)
            ofWarps[warp] = ofWarp;
          __syncthreads();
          for (int w = 0; w < tileEntryThreads / 32; ++w) {
            own += w < warp ? ofWarps[w] : 0;
            ofWarp = w == 0 ? ofWarps[0] : ofWarp + ofWarps[w];
          }
          if (slot < count) {
            before[slot] = sum + own;
            to.row[firstTile + slot] = static_cast<std::uint32_t>(group);
            to.pattern[firstTile + slot] = pattern;
            to.first[firstTile + slot] = static_cast<std::uint32_t>(next + sum + own);
          }
          sum += ofWarp;
          __syncthreads();
        }
        forEntries([&](int slot, int row, std::uint64_t e, std::uint32_t column) {
          const int bit = 8 * row + static_cast<int>(column & 7);
          const float value = matrix.value[e];
          if (!isfinite(value))
            *notFinite = 1;
          const int exponent = scale.exponent[scale.ofColumns ? column : group * tileSide + row];
          to.number[next + before[slot] + __popcll(shared.pattern(slot) & ((TilePattern{1} << bit) - 1))] =
              __half_as_ushort(__float2half_rn(ldexpf(value, -exponent)));
        });
        next += sum;
      });
}

}

BitmapTilesOnCuda makeBitmapTilesOnCuda(const Context& context, const CsrView<float>& matrix,
                                        std::uint64_t entries, const HalfScale& scale,
                                        const std::uint32_t* tilesOfGroups, std::uint32_t tiles,
                                        std::uint32_t* notFinite)
{
  const std::size_t groups = ceilDiv(matrix.rows, tileSide), room = std::max(tiles, 1u);
  BitmapTilesOnCuda made;
  made.tiles = tiles;
  made.rowStart = Buffer<std::uint32_t>(context, groups + 1);
  made.row = Buffer<std::uint32_t>(context, room);
  made.column = Buffer<std::uint32_t>(context, room);
  made.first = Buffer<std::uint32_t>(context, room);
  made.pattern = Buffer<TilePattern>(context, room);
  made.number = Buffer<std::uint16_t>(context, std::max<std::uint64_t>(entries, 1));
  scanOnCuda(context, groups, tilesOfGroups, made.rowStart.span().data());
  const Target target{made.row.span().data(), made.column.span().data(), made.first.span().data(),
                      made.pattern.span().data(), made.number.span().data()};
  fillBitmapTiles<<<static_cast<unsigned>(groups), tileEntryThreads, 0, cudaStreamOf(context)>>>(
      matrix, scale, made.rowStart.span().data(), target, notFinite);
  checkLaunch("bitmap tiles of a matrix");
  return made;
}

}
