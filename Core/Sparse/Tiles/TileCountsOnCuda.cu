#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Tiles/TileProductOnCuda.cuh"

namespace tessera {
namespace {

constexpr int tileCountThreads = 128;

/// Counts the entries of C in rows that use tiles; a block for each row of tiles of C.
/// for each window of the columns of tiles:
///   mark the columns where C has a tile (pairs of tiles whose patterns meet); their ranks number the tiles
///   for each slotsAtOnce tiles: find their patterns by boolean products, count the bits of each row,
///     and keep columns and patterns for multiplying if there is room
/// Memory traffic: reads 12 bytes for each tile of A, and twice 12 for each tile of B that one meets; writes
/// 4 for each row and 12 for each tile that is kept.
template <class V>
__global__ void __launch_bounds__(tileCountThreads)
    countEntries(TileView<V> a, TileView<V> b, std::size_t rows, const std::uint32_t* groups,
                 std::uint32_t* rowCounts, KeptTileView kept)
{
  __shared__ TileRowPattern<tileCountThreads> shared;
  __shared__ unsigned counts[tileSide];
  __shared__ std::uint32_t firstKept;
  const std::uint32_t group = groups[blockIdx.x], firstOfA = a.rowStart[group],
                      lastOfA = a.rowStart[group + 1];
  if (threadIdx.x < tileSide)
    counts[threadIdx.x] = 0;
  shared.findRange(a, firstOfA, lastOfA, b);
  unsigned own[tileSide] = {};
  const bool mayKeep =
      shared.window.highest - shared.window.lowest < windowColumns; // all columns are in one window
  if (threadIdx.x == 0)
    kept.count[group] = 0;
  forWindows(shared.window, [&](int lowest, int words) {
    const int slots = shared.mark(a, firstOfA, lastOfA, b, lowest, words);
    if (threadIdx.x == 0) {
      const unsigned long long at =
          mayKeep ? atomicAdd(kept.used, static_cast<unsigned long long>(slots)) : kept.room;
      const bool keeps = at + slots <= kept.room;
      firstKept = keeps ? static_cast<std::uint32_t>(at) : kept.room;
      kept.first[group] = firstKept;
      kept.count[group] = keeps ? slots : 0;
    }
    __syncthreads();
    const bool keeps = firstKept < kept.room;
    for (int first = 0; first < slots; first += slotsAtOnce) {
      const int count = min(slotsAtOnce, slots - first);
      shared.findPatterns(a, firstOfA, lastOfA, b, lowest, words, first, count);
      for (int i = threadIdx.x; i < count; i += tileCountThreads) {
        const TilePattern pattern = shared.pattern[i];
#pragma unroll
        for (int r = 0; r < static_cast<int>(tileSide); ++r)
          own[r] += __popc(rowOfPattern(pattern, r));
        if (keeps) {
          kept.pattern[firstKept + first + i] = pattern;
          kept.column[firstKept + first + i] = static_cast<std::uint32_t>(shared.column[i]);
        }
      }
      __syncthreads();
    }
  });
#pragma unroll
  for (int r = 0; r < static_cast<int>(tileSide); ++r) {
    const unsigned sum = groupSum<32>(own[r]);
    if (threadIdx.x % 32 == 0 && sum > 0)
      atomicAdd(&counts[r], sum);
  }
  __syncthreads();
  const std::size_t row = group * tileSide + threadIdx.x;
  if (threadIdx.x < tileSide && row < rows)
    rowCounts[row] = counts[threadIdx.x];
}

}

template <class V>
void countByTilesOnCuda(const Context& context, const TileView<V>& a, const TileView<V>& b, std::size_t rows,
                        const std::uint32_t* groups, std::uint32_t groupCount, std::uint32_t* rowCounts,
                        const KeptTileView& kept)
{
  countEntries<V>
      <<<groupCount, tileCountThreads, 0, cudaStreamOf(context)>>>(a, b, rows, groups, rowCounts, kept);
  checkLaunch("entries of C by tiles");
}

template void countByTilesOnCuda(const Context&, const TileView<float>&, const TileView<float>&, std::size_t,
                                 const std::uint32_t*, std::uint32_t, std::uint32_t*, const KeptTileView&);
template void countByTilesOnCuda(const Context&, const TileView<double>&, const TileView<double>&,
                                 std::size_t, const std::uint32_t*, std::uint32_t, std::uint32_t*,
                                 const KeptTileView&);

}
