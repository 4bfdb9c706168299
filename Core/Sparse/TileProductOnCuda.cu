#include "Core/Sparse/TileProductOnCuda.cuh"

#include "Core/Compute/Cuda.cuh"

namespace tessera {
namespace {

constexpr int threads = 256, warps = threads / 32, blocksAMultiprocessor = 4;
constexpr int tilesOfAAtOnce = 32; // a lane each

struct Memory {
  TileRowPattern<threads> row;
  double2 ofA[tilesOfAAtOnce][32];                    // columns k and k + 4 of row r of a tile of A at 4 r + k
  std::uint16_t partner[slotsAtOnce][tilesOfAAtOnce]; // 1 + index of B's tile that such a tile of A meets, 0: none
  std::uint16_t entriesBefore[slotsAtOnce][tileSide]; // of a row of C, in the slots before
  unsigned done[tileSide], next[tileSide];            // entries of each row before these slots, and in them
};

/// c += a b for 8 x 4 and 4 x 8 numbers: lane 4 i + k holds a(i, k) and b(k, i), lane 4 i + j has c(i, 2 j) and c(i, 2 j + 1).
__device__ __forceinline__ void multiplyAdd(double2& c, double a, double b)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(c.x), "+d"(c.y)
               : "d"(a), "d"(b));
#else
  const int lane = threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const double ofRow = __shfl_sync(~0u, a, row + k);
    c.x = fma(ofRow, __shfl_sync(~0u, b, column + k), c.x);
    c.y = fma(ofRow, __shfl_sync(~0u, b, column + 4 + k), c.y);
  }
#endif
}

/// Entries of each row of the slots before each of `count` slots, and in all.
__device__ void countEntriesBefore(Memory& shared, int count)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int r = warp; r < static_cast<int>(tileSide); r += warps) {
    int before = 0;
    for (int first = 0; first < count; first += 32) {
      const int slot = first + lane;
      int ofWarp = 0;
      const int own = warpExclusive(slot < count ? __popc(rowOfPattern(shared.row.pattern[slot], r)) : 0, ofWarp);
      if (slot < count)
        shared.entriesBefore[slot][r] = static_cast<std::uint16_t>(before + own);
      before += ofWarp;
    }
    if (lane == 0)
      shared.next[r] = before;
  }
}

/// Tiles [first, last) of A as the tensor cores take them, and which tile of B each meets for each slot from `firstSlot` on.
template <class V>
__device__ void bringTilesOfA(Memory& shared, const TileView<V>& a, std::uint32_t first, std::uint32_t last, const TileView<V>& b,
                              int lowest, int words, int firstSlot, int count)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < count * tilesOfAAtOnce / 2; i += threads)
    reinterpret_cast<unsigned*>(shared.partner)[i] = 0;
  for (std::uint32_t tile = first + warp; tile < last; tile += warps) {
    const TilePair<V> pair = a.pairs[tile * std::size_t{32} + lane]; // rows lane % 4 and 4 more of column lane / 4
    double* const to = reinterpret_cast<double*>(shared.ofA[tile - first]) + 8 * (lane % 4) + 2 * (lane / 4 % 4) + lane / 16;
    to[0] = pair.low;
    to[32] = pair.high;
  }
  __syncthreads();
  shared.row.forPairs(a, first, last, b, [&](int i, TilePattern ofA, std::uint32_t firstOfB, int j) {
    int c = static_cast<int>(b.column[firstOfB + j]);
    if (!inWindow(c, lowest, words) || !patternsMeet(ofA, b.pattern[firstOfB + j]))
      return;
    const int slot = shared.row.window.rank(c) - firstSlot;
    if (slot >= 0 && slot < count)
      shared.partner[slot][i] = static_cast<std::uint16_t>(j + 1);
  });
  __syncthreads();
}

/// sum of the products of the tiles of A in `todo` with their partners; `tile` is that of each lane's tile of A.
template <class V>
__device__ __forceinline__ double2 sumOfProducts(const Memory& shared, unsigned todo, std::uint32_t tile,
                                                 const TilePair<V>* pairsOfB)
{
  constexpr int ahead = sizeof(V) == 4 ? 4 : 2; // tiles of B on their way, as registers allow
  const int lane = threadIdx.x % 32;
  double2 even = {0, 0}, odd = {0, 0}; // two sums, so that neither waits for the other
  while (todo != 0) {
    int source[ahead];
    TilePair<V> ofB[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      source[u] = __ffs(todo) - 1;
      todo &= todo - 1;
      const std::uint32_t of = __shfl_sync(~0u, tile, source[u] & 31);
      if (source[u] >= 0)
        ofB[u] = pairsOfB[of * std::size_t{32} + lane];
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (source[u] >= 0) {
        const double2 ofA = shared.ofA[source[u]][lane];
        multiplyAdd(even, ofA.x, ofB[u].low);
        multiplyAdd(odd, ofA.y, ofB[u].high);
      }
  }
  return {even.x + odd.x, even.y + odd.y};
}

/// A block a row of tiles of C, a warp a tile of C. Reads 12 bytes a tile of A and 12 a tile of B for each that it meets three
/// times, 64 sizeof(V) bytes of both once; writes 4 + sizeof(V) an entry of C.
template <class V>
__global__ void __launch_bounds__(threads, blocksAMultiprocessor)
    multiplyTiles(TileView<V> a, TileView<V> b, const std::uint32_t* groups, std::size_t rows, const std::uint64_t* rowStart,
                  std::uint32_t* columns, V* values)
{
  extern __shared__ __align__(16) unsigned char memory[];
  Memory& shared = *reinterpret_cast<Memory*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rowOfTile = lane / 4, columnOfTile = lane % 4 * 2;
  const std::uint32_t group = groups[blockIdx.x], firstOfA = a.rowStart[group], lastOfA = a.rowStart[group + 1];
  const std::size_t row = group * tileSide + rowOfTile;
  const bool inside = row < rows;
  const std::uint64_t startOfRow = inside ? rowStart[row] : 0;
  if (threadIdx.x < tileSide)
    shared.done[threadIdx.x] = 0;
  shared.row.findRange(a, firstOfA, lastOfA, b);
  forWindows(shared.row.window, [&](int lowest, int words) {
    const int slots = shared.row.mark(a, firstOfA, lastOfA, b, lowest, words);
    for (int firstSlot = 0; firstSlot < slots; firstSlot += slotsAtOnce) {
      const int count = min(slotsAtOnce, slots - firstSlot);
      shared.row.findPatterns(a, firstOfA, lastOfA, b, lowest, words, firstSlot, count);
      countEntriesBefore(shared, count);
      for (std::uint32_t first = firstOfA; first < lastOfA; first += tilesOfAAtOnce) {
        const std::uint32_t last = min(first + tilesOfAAtOnce, lastOfA);
        __syncthreads();
        bringTilesOfA(shared, a, first, last, b, lowest, words, firstSlot, count);
        const std::uint32_t beforeB = first + lane < last ? b.rowStart[a.column[first + lane]] - 1 : 0; // partners count from 1
        unsigned partner = warp < count ? shared.partner[warp][lane] : 0;
        for (int slot = warp; slot < count; slot += warps) {
          const std::uint32_t tile = beforeB + partner;
          const unsigned todo = __ballot_sync(~0u, partner != 0);
          partner = slot + warps < count ? shared.partner[slot + warps][lane] : 0;
          if (todo == 0 && first > firstOfA)
            continue;
          const double2 sum = sumOfProducts(shared, todo, tile, b.pairs);
          const unsigned ofRow = inside ? rowOfPattern(shared.row.pattern[slot], rowOfTile) : 0;
          const bool hasFirst = ofRow >> columnOfTile & 1, hasSecond = ofRow >> columnOfTile >> 1 & 1;
          const std::uint64_t to = startOfRow + shared.done[rowOfTile] + shared.entriesBefore[slot][rowOfTile]
                                   + __popc(ofRow & bitsBefore(columnOfTile));
          const auto write = [&](bool has, std::uint64_t at, int column, double value) {
            if (!has)
              return;
            columns[at] = static_cast<std::uint32_t>(shared.row.column[slot] * static_cast<int>(tileSide) + column);
            values[at] = static_cast<V>(first > firstOfA ? values[at] + value : value);
          };
          write(hasFirst, to, columnOfTile, sum.x);
          write(hasSecond, to + hasFirst, columnOfTile + 1, sum.y);
        }
      }
      __syncthreads();
      if (threadIdx.x < tileSide)
        shared.done[threadIdx.x] += shared.next[threadIdx.x];
      __syncthreads();
    }
  });
}

}

template <class V>
void multiplyByTilesOnCuda(const Context& context, const TileView<V>& a, const TileView<V>& b, const std::uint32_t* groups,
                           std::uint32_t groupCount, CsrOnCuda<V>& c)
{
  checkCuda(cudaFuncSetAttribute(multiplyTiles<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(Memory))),
            "shared memory of a product by tiles");
  multiplyTiles<V><<<groupCount, threads, sizeof(Memory), cudaStreamOf(context)>>>(a, b, groups, c.rows, c.rowStart.span().data(),
                                                                                   c.column.span().data(), c.value.span().data());
  checkLaunch("product by tiles");
}

template void multiplyByTilesOnCuda(const Context&, const TileView<float>&, const TileView<float>&, const std::uint32_t*,
                                    std::uint32_t, CsrOnCuda<float>&);
template void multiplyByTilesOnCuda(const Context&, const TileView<double>&, const TileView<double>&, const std::uint32_t*,
                                    std::uint32_t, CsrOnCuda<double>&);

}
