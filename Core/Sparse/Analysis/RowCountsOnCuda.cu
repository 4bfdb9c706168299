#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Rows/BlockRowsOnCuda.cuh"
#include "Core/Sparse/Rows/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/Rows/RowProductOnCuda.h"
#include "Core/Sparse/Rows/SortedRowsOnCuda.cuh"
#include "Core/Sparse/Rows/StagedRowsOnCuda.cuh"

namespace tessera {
namespace {

/// The shared memory for counting the entries of a row: either a bit for each column of B (`direct`), or the
/// columns of all products of the row with bits in two levels.
struct CountRoom {
  bool direct;
  int threads, rowsABlock, products, topWords, words;

  __host__ __device__ std::size_t bytes() const
  {
    const std::size_t columns = direct ? words * sizeof(int)
                                       : ColumnRanks::bytes(words + topWords) + products * sizeof(int)
                                             + PieceMarks::bytes(products) + RowPieces<float>::bytes();
    return (rowScratch * sizeof(int) + columns + 15) / 16 * 16;
  }
};

/// Counts the entries of a row with one bit for each column of B.
__device__ int countBits(const RowGroup& group, const CountRoom& room, unsigned* words, int* scratch,
                         const PatternView& a, const PatternView& b, std::uint64_t first, std::uint64_t last)
{
  for (int i = group.rank; i < room.words; i += group.threads)
    words[i] = 0;
  if (group.rank == 0)
    *scratch = 0;
  group.sync();
  const int lane = group.rank % 32, warp = group.rank / 32, warps = group.threads / 32;
  const auto entriesOfA = static_cast<unsigned>(last - first), warpCount = static_cast<unsigned>(warps);
  // Each warp takes equally many entries in each of its turns.
  const unsigned turns = max(ceilDiv(entriesOfA, 32 * warpCount), 1u);
  const int atOnce = static_cast<int>(ceilDiv(entriesOfA, turns * warpCount));
  for (std::uint64_t e = first + warp * atOnce; e < last; e += warps * atOnce)
    forPiecesInAnyOrder(lane < atOnce && e + lane < last ? rowOfB(a, b, e + lane) : RowPiece(), b,
                        [&](int column) { setBit(words, column); });
  group.sync();
  int own = 0;
  for (int i = group.rank; i < room.words; i += group.threads)
    own += __popc(words[i]);
  own = groupSum<32>(own);
  if (lane == 0 && own > 0)
    atomicAdd(scratch, own);
  group.sync();
  return *scratch;
}

/// Counts the entries of a row after bringing the columns of its products to shared memory.
__device__ int countStaged(const RowGroup& group, const CountRoom& room, unsigned char* memory, int* scratch,
                           const CsrView<float>& a, const PatternView& b, std::uint64_t first,
                           std::uint64_t last)
{
  const RowPieces<float> pieces(memory);
  const PieceMarks marks(memory + RowPieces<float>::bytes(), room.products);
  int* const columns =
      reinterpret_cast<int*>(memory + RowPieces<float>::bytes() + PieceMarks::bytes(room.products));
  ColumnRanks ranks;
  ranks.layOut(reinterpret_cast<unsigned*>(columns + room.products), room.words, room.topWords);
  int low = 0x7fffffff, high = 0;
  const auto note = [&](const BroughtPieces& before, const BroughtPieces& now) {
    marks.fill(group, now, pieces.end);
    pieces.forColumns(group, b, 0, now.products, marks, [&](int i, int column) {
      columns[before.products + i] = column;
      low = min(low, column);
      high = max(high, column);
    });
  };
  const int products = pieces.bringAll(group, a, b, first, last, note).products;
  return ranks.fill(group, low, high, scratch, [&](auto&& body) {
    for (int i = group.rank; i < products; i += group.threads)
      body(columns[i]);
  });
}

/// Counts the entries of short rows; a group of lanes for each row. Memory traffic: reads 4 bytes for each
/// row, 8 for each entry of A and 4 for each product; writes 4 for each row.
__global__ void __launch_bounds__(sorterThreads)
    countSortedRows(CsrView<float> a, CsrView<float> b, SortedBins bins, std::uint32_t* rowCounts)
{
  forSortedBin(bins, [&](auto lanes, auto itemsALane, const RowList& rows, unsigned block) {
    constexpr int Group = lanes(), Items = itemsALane();
    const std::uint32_t task = (block * sorterThreads + threadIdx.x) / Group;
    const int lane = threadIdx.x % Group;
    const bool active = task < rows.count;
    const std::uint32_t row = active ? rows.list[task] : 0;
    PlusTimes<float> ring;
    RowKeys<Group, Items, false, std::uint32_t> keys;
    expandRow(ring, a, b, active ? a.rowStart[row] : 0, active ? a.rowStart[row + 1] : 0, keys,
              static_cast<float*>(nullptr));
    sortItems(keys);
    const std::uint32_t columnBefore = __shfl_up_sync(~0u, keys.key[Items - 1], 1, Group);
    const int columns = groupInclusive<Group>(columnsThatStart(keys.key, lane, columnBefore));
    if (active && lane == Group - 1)
      rowCounts[row] = columns;
  });
}

/// Counts the entries of rows that have too many products for sorting in registers. Memory traffic: reads 12
/// bytes for each entry of A and 4 for each product; writes 4 for each row.
__global__ void __launch_bounds__(maxStagedThreads)
    countWideRows(CsrView<float> a, PatternView b, const std::uint32_t* list, std::uint32_t count,
                  CountRoom room, std::uint32_t* rowCounts)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const RowGroup group(room.threads);
  const unsigned ofBlock = threadIdx.x / static_cast<unsigned>(room.threads);
  const std::uint32_t task = blockIdx.x * room.rowsABlock + ofBlock;
  if (task >= count)
    return;
  unsigned char* const ofRow = memory + ofBlock * room.bytes();
  int* const scratch = reinterpret_cast<int*>(ofRow);
  unsigned char* const behind = ofRow + rowScratch * sizeof(int);
  const std::uint32_t row = list[task];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  const int entries =
      room.direct ? countBits(group, room, reinterpret_cast<unsigned*>(behind), scratch, a, b, first, last)
                  : countStaged(group, room, behind, scratch, a, b, first, last);
  if (group.rank == 0)
    rowCounts[row] = entries;
}

/// Counts the entries of the longest rows, window by window of the columns; a block for each row. Memory
/// traffic: reads 12 bytes for each entry of A and 4 for each product in each window; writes 4 for each row.
__global__ void __launch_bounds__(blockRowThreads)
    countBlockRows(PatternView a, PatternView b, const std::uint32_t* list, BlockRowRoom room,
                   std::uint32_t* rowCounts)
{
  extern __shared__ __align__(16) unsigned char memory[];
  BlockRow shared(memory, room);
  const std::uint32_t row = list[blockIdx.x];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  std::uint32_t entries = 0;
  bool isWhole = false;
  for (int from = 0; !isWhole && moveWindow(shared, a, b, first, last, from, room, isWhole);
       from = shared.end)
    entries += findColumns(shared, a, b, first, last, room.words, isWhole);
  if (threadIdx.x == 0)
    rowCounts[row] = entries;
}

class Counts final : public RowLaunches {
public:
  Counts(const PatternView& a, const PatternView& b, std::uint32_t* rowCounts)
      : a_(a), b_(b), rowCounts_(rowCounts)
  {
  }

  void sortedRows(const SortedBins& bins, cudaStream_t stream) const override
  {
    countSortedRows<<<bins.blocks, sorterThreads, 0, stream>>>({a_, nullptr}, {b_, nullptr}, bins,
                                                               rowCounts_);
  }
  bool stagedRows(const RowList& rows, int products, int threads, const RowLimits& limits,
                  cudaStream_t stream) const override
  {
    const CountRoom direct{true, std::min(threads, 256), 1, 0, 0, limits.words};
    const CountRoom staged{false, threads, 1, products, limits.topWords, std::min(limits.words, products)};
    if (direct.bytes() <= std::min(2 * staged.bytes(), limits.sharedBytes))
      return launch(rows, direct, stream);
    return staged.bytes() <= limits.sharedBytes && launch(rows, staged, stream);
  }
  bool warpRows(const RowList&, int, const RowLimits&, cudaStream_t) const override { return false; }
  bool longRows(const RowList& rows, int, const RowLimits& limits, cudaStream_t stream) const override
  {
    const CountRoom direct{true, maxStagedThreads, 1, 0, 0, limits.words};
    return direct.bytes() <= limits.sharedBytes && launch(rows, direct, stream);
  }
  void blockRows(const RowList& rows, const RowLimits& limits, cudaStream_t stream) const override
  {
    const BlockRowRoom room = blockRowRoom(limits, 0);
    const std::size_t bytes = room.bytes<float>();
    allowShared(countBlockRows, bytes);
    countBlockRows<<<rows.count, blockRowThreads, bytes, stream>>>(a_, b_, rows.list, room, rowCounts_);
  }

private:
  bool launch(const RowList& rows, CountRoom room, cudaStream_t stream) const
  {
    room.rowsABlock = rowsABlockFor(room.threads, room.bytes());
    const std::size_t bytes = room.rowsABlock * room.bytes();
    allowShared(countWideRows, bytes);
    countWideRows<<<ceilDiv<unsigned>(rows.count, room.rowsABlock), room.threads * room.rowsABlock, bytes,
                    stream>>>({a_, nullptr}, b_, rows.list, rows.count, room, rowCounts_);
    return true;
  }

  PatternView a_, b_;
  std::uint32_t* rowCounts_;
};

}

std::unique_ptr<RowLaunches> countingPass(const PatternView& a, const PatternView& b,
                                          std::uint32_t* rowCounts)
{
  return std::make_unique<Counts>(a, b, rowCounts);
}

void countByRowsOnCuda(const Context& context, SideStreams& streams, const PatternView& a,
                       const PatternView& b, const RowBinCounts& bins, const std::uint32_t* binnedRows,
                       std::uint32_t* rowCounts)
{
  launchRows(context, streams, Counts(a, b, rowCounts), bins, binnedRows, a.rows, b.columns);
}

}
