#include "Core/Sparse/Tiles/TileProductOnCuda.cuh"

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {
namespace {

constexpr int tileProductThreads = 256, tileProductWarps = tileProductThreads / 32, blocksAMultiprocessor = 4;
constexpr int tilesOfAAtOnce = 32; // one for each lane

/// A tile of B and the tile of A that it is multiplied with. Tiles of A are numbered among those in shared
/// memory.
struct alignas(8) Meeting {
  std::uint32_t tileOfB, tileOfA;
};

struct Memory {
  TileRowPattern<tileProductThreads> row;
  // A tile of A as operand of the tensor cores: element 4 r + k has columns k and k + 4 of row r.
  double2 ofA[tilesOfAAtOnce][32];
  // For each tile of C and each tile of A: 1 + number of B's tile within its row of tiles; 0 for none.
  std::uint16_t partner[slotsAtOnce][tilesOfAAtOnce];
  std::uint32_t rows[slotsAtOnce][tileSide]; // see rankEntries
  // The pairs of tiles to multiply for each warp's tile of C, in the order of A's tiles.
  Meeting meetings[tileProductWarps][tilesOfAAtOnce];
  int next[tileSide]; // entries of each row in the current tiles of C
};

/// c += a b on tensor cores in double precision; a is 8 x 4, b 4 x 8 and c 8 x 8. Lane 4 i + k holds a(i, k)
/// and b(k, i); lane 4 i + j holds c(i, 2 j) and c(i, 2 j + 1), as the instruction mma.m8n8k4 wants it.
/// Source: NVIDIA: PTX ISA, matrix fragments for mma.m8n8k4.
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

/// Brings tiles [first, last) of A to shared memory as operands of the tensor cores. Finds which tile of B
/// each of them is multiplied with for the tiles of C from `firstSlot` on.
template <class V>
__device__ void bringTilesOfA(Memory& shared, const TileView<V>& a, std::uint32_t first, std::uint32_t last,
                              const TileView<V>& b, int lowest, int words, int firstSlot, int count)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < count * tilesOfAAtOnce / 2; i += tileProductThreads)
    reinterpret_cast<unsigned*>(shared.partner)[i] = 0;
  for (std::uint32_t tile = first + warp; tile < last; tile += tileProductWarps) {
    const TilePair<V> pair =
        a.pairs[tile * std::size_t{32} + lane]; // rows lane % 4 and lane % 4 + 4 of column lane / 4
    double* const to =
        reinterpret_cast<double*>(shared.ofA[tile - first]) + 8 * (lane % 4) + 2 * (lane / 4 % 4) + lane / 16;
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

/// Adds the products of `Count` pairs of tiles. All loads come before the multiplications, so that they
/// overlap. `ofB` points to this lane's pair of numbers in tile 0 of B.
template <int Count, class V>
__device__ __forceinline__ void addProducts(const double2* ofA, const Meeting* meetings,
                                            const TilePair<V>* ofB, double2& even, double2& odd)
{
  TilePair<V> pairs[Count];
  std::uint32_t tilesOfA[Count];
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    const Meeting meeting = meetings[u];
    tilesOfA[u] = meeting.tileOfA;
    pairs[u] = ofB[meeting.tileOfB * std::size_t{32}];
  }
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    const double2 tileOfA = ofA[tilesOfA[u] * 32];
    multiplyAdd(even, tileOfA.x, pairs[u].low);
    multiplyAdd(odd, tileOfA.y, pairs[u].high);
  }
}

/// The sum of the products of a warp's pairs of tiles.
template <class V>
__device__ __forceinline__ double2 sumOfProducts(const double2* ofA, const Meeting* meetings, int count,
                                                 const TilePair<V>* ofB)
{
  constexpr int ahead = sizeof(V) == 4 ? 4 : 2; // pairs that are loaded together, as many as registers allow
  double2 even = {0, 0},
          odd = {0, 0}; // two sums, so that consecutive instructions do not wait for each other
  int i = 0;
#pragma unroll 1
  for (; i + ahead <= count; i += ahead)
    addProducts<ahead>(ofA, meetings + i, ofB, even, odd);
  if (ahead > 2 && i + 2 <= count) {
    addProducts<2>(ofA, meetings + i, ofB, even, odd);
    i += 2;
  }
  if (i < count)
    addProducts<1>(ofA, meetings + i, ofB, even, odd);
  return {even.x + odd.x, even.y + odd.y};
}

/// Computes the rows of C that use tiles; a block for each row of tiles of C, a warp for each tile of C.
/// for each window of the columns of tiles, for each slotsAtOnce tiles of C in it:
///   fetch the tiles' columns and patterns from kept tiles, or find them as countEntries does
///   rank the entries of each row, which gives the place of each entry in C
///   for each tilesOfAAtOnce tiles of A:
///     bring them to shared memory and list for each tile of C the pairs of tiles to multiply
///     each warp: for each of its tiles of C: sum up the products in registers and add them to C's values
/// Memory traffic: reads 12 bytes for each tile of A and 12 for each tile of B that one meets, three times
/// unless tiles of C were kept, and the 64 numbers of both once; writes 4 + sizeof(V) for each entry of C.
template <class V>
__global__ void __launch_bounds__(tileProductThreads, blocksAMultiprocessor)
    multiplyTiles(TileView<V> a, TileView<V> b, const std::uint32_t* groups, std::size_t rows,
                  const std::uint64_t* rowStart, KeptTileView kept, std::uint32_t* columns, V* values)
{
  extern __shared__ __align__(16) unsigned char memory[];
  Memory& shared = *reinterpret_cast<Memory*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rowOfTile = lane / 4,
            columnOfTile = lane % 4 * 2;
  const std::uint32_t group = groups[blockIdx.x], firstOfA = a.rowStart[group],
                      lastOfA = a.rowStart[group + 1];
  const std::uint64_t startOfRow =
      rowStart[min(group * tileSide + rowOfTile, rows)]; // rows behind the last have no entries
  std::uint32_t* const columnsOfRow = columns + startOfRow;
  V* const valuesOfRow = values + startOfRow;
  Meeting* const meetings = shared.meetings[warp];
  unsigned done = 0; // entries of the row in earlier tiles
  const std::uint32_t firstKept = kept.first[group];
  const int countOfKept = static_cast<int>(kept.count[group]);
  const std::uint32_t* const keptColumns = kept.column + firstKept;
  int lowestOfAll = 0, highest = 0; // the range of columns of tiles
  if (countOfKept > 0) {
    lowestOfAll = static_cast<int>(keptColumns[0]);
    highest = static_cast<int>(keptColumns[countOfKept - 1]);
  } else {
    shared.row.findRange(a, firstOfA, lastOfA, b);
    lowestOfAll = shared.row.window.lowest;
    highest = shared.row.window.highest;
  }
  for (int lowest = lowestOfAll; lowest <= highest; lowest += windowColumns) {
    const int words = min(windowWords, (highest - lowest) / 32 + 1);
    const int slots = countOfKept > 0 ? shared.row.markKept(keptColumns, countOfKept, lowest, words)
                                      : shared.row.mark(a, firstOfA, lastOfA, b, lowest, words);
    for (int firstSlot = 0; firstSlot < slots; firstSlot += slotsAtOnce) {
      const int count = min(slotsAtOnce, slots - firstSlot);
      if (countOfKept > 0)
        shared.row.bringPatterns(keptColumns + firstSlot, kept.pattern + firstKept + firstSlot, count);
      else
        shared.row.findPatterns(a, firstOfA, lastOfA, b, lowest, words, firstSlot, count);
      rankEntries<tileProductThreads>(shared.row.pattern, count, shared.rows, shared.next);
      for (std::uint32_t first = firstOfA; first < lastOfA; first += tilesOfAAtOnce) {
        const std::uint32_t last = min(first + tilesOfAAtOnce, lastOfA);
        const bool isFirst = first == firstOfA;
        __syncthreads();
        bringTilesOfA(shared, a, first, last, b, lowest, words, firstSlot, count);
        const std::uint32_t beforeB = first + lane < last ? b.rowStart[a.column[first + lane]] - 1
                                                          : 0; // the numbers in `partner` count from 1
        unsigned partner = warp < count ? shared.partner[warp][lane] : 0;
        for (int slot = warp; slot < count; slot += tileProductWarps) {
          const unsigned met = __ballot_sync(~0u, partner != 0);
          if (partner != 0)
            meetings[__popc(met & bitsBefore(lane))] = {beforeB + partner, static_cast<std::uint32_t>(lane)};
          partner = slot + tileProductWarps < count ? shared.partner[slot + tileProductWarps][lane] : 0;
          if (met == 0 && !isFirst)
            continue;
          __syncwarp();
          const double2 sum = sumOfProducts(&shared.ofA[0][lane], meetings, __popc(met), b.pairs + lane);
          __syncwarp(); // the next tile of C overwrites `meetings`
          const unsigned state = shared.rows[slot][rowOfTile], ofRow = state >> 16;
          const unsigned at = done + (state & 0xffffu) + __popc(ofRow & bitsBefore(columnOfTile));
          const std::uint32_t column =
              shared.row.column[slot] * static_cast<std::uint32_t>(tileSide) + columnOfTile;
          const auto write = [&](unsigned to, std::uint32_t columnOfEntry, double value) {
            columnsOfRow[to] = columnOfEntry;
            valuesOfRow[to] = static_cast<V>(isFirst ? value : valuesOfRow[to] + value);
          };
          if (ofRow >> columnOfTile & 1)
            write(at, column, sum.x);
          if (ofRow >> columnOfTile & 2)
            write(at + (ofRow >> columnOfTile & 1), column + 1, sum.y);
        }
      }
      __syncthreads();
      done += shared.next[rowOfTile];
      __syncthreads();
    }
  }
}

}

template <class V>
void multiplyByTilesOnCuda(const Context& context, const TileView<V>& a, const TileView<V>& b,
                           const std::uint32_t* groups, std::uint32_t groupCount, const KeptTileView& kept,
                           CsrOnCuda<V>& c)
{
  const auto kernel = multiplyTiles<V>;
  checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(sizeof(Memory))),
            "shared memory of a product by tiles");
  kernel<<<groupCount, tileProductThreads, sizeof(Memory), cudaStreamOf(context)>>>(
      a, b, groups, c.rows, c.rowStart.span().data(), kept, c.column.span().data(), c.value.span().data());
  checkLaunch("product by tiles");
}

template void multiplyByTilesOnCuda(const Context&, const TileView<float>&, const TileView<float>&,
                                    const std::uint32_t*, std::uint32_t, const KeptTileView&,
                                    CsrOnCuda<float>&);
template void multiplyByTilesOnCuda(const Context&, const TileView<double>&, const TileView<double>&,
                                    const std::uint32_t*, std::uint32_t, const KeptTileView&,
                                    CsrOnCuda<double>&);

}
