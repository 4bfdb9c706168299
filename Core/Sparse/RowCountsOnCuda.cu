#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/BlockRowsOnCuda.cuh"
#include "Core/Sparse/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/RowProductOnCuda.h"
#include "Core/Sparse/SortedRowsOnCuda.cuh"
#include "Core/Sparse/WarpRowsOnCuda.cuh"

namespace tessera {
namespace {

/// A warp a row. Reads 8 bytes an entry of A and 4 a product, twice; writes 4 a row.
__global__ void __launch_bounds__(warpRowThreads) countWarpRows(PatternView a, PatternView b, const std::uint32_t* list,
                                                                std::uint32_t count, WarpRowRoom room, std::uint32_t* rowCounts)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const int warp = threadIdx.x / 32;
  const std::uint32_t task = blockIdx.x * warpsABlock + warp;
  if (task >= count)
    return;
  const std::uint32_t row = list[task];
  WarpRow<float> shared(memory + warp * room.bytes<float>(), room);
  const int entries = shared.findColumns(a, b, a.rowStart[row], a.rowStart[row + 1]);
  if (threadIdx.x % 32 == 0)
    rowCounts[row] = entries;
}

/// A block a row, in windows of columns. Reads 12 bytes an entry of A and 4 a product a window; writes 4 a row.
__global__ void __launch_bounds__(blockRowThreads)
    countBlockRows(PatternView a, PatternView b, const std::uint32_t* list, BlockRowRoom room, std::uint32_t* rowCounts)
{
  extern __shared__ __align__(16) unsigned char memory[];
  BlockRow shared(memory, room);
  const std::uint32_t row = list[blockIdx.x];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  std::uint32_t entries = 0;
  bool isWhole = false;
  for (int from = 0; !isWhole && moveWindow(shared, a, b, first, last, from, room, isWhole); from = shared.end)
    entries += findColumns(shared, a, b, first, last, room.words, isWhole);
  if (threadIdx.x == 0)
    rowCounts[row] = entries;
}

class Counts final : public RowLaunches {
public:
  Counts(const PatternView& a, const PatternView& b, std::uint32_t* rowCounts) : a_(a), b_(b), rowCounts_(rowCounts) {}

  std::size_t warpRowBytes(const WarpRowRoom& room) const override { return room.bytes<float>(); }
  std::size_t blockRowBytes(const BlockRowRoom& room) const override { return room.bytes<float>(); }

  void sortedRows(const RowList& rows, int products, cudaStream_t stream) const override
  {
    const auto launch = [&](auto kernel, unsigned lanes) {
      kernel<<<sorterBlocks(rows.count, lanes), sorterThreads, 0, stream>>>({a_, nullptr}, {b_, nullptr}, rows.list, rows.count,
                                                                            rowCounts_);
    };
    products == 8    ? launch(countSortedRows<8, 1>, 8)
    : products == 16 ? launch(countSortedRows<16, 1>, 16)
    : products == 32 ? launch(countSortedRows<32, 1>, 32)
                     : launch(countSortedRows<32, 2>, 32);
  }
  void warpRows(const RowList& rows, const WarpRowRoom& room, std::size_t bytes, cudaStream_t stream) const override
  {
    allowShared(countWarpRows, bytes);
    countWarpRows<<<ceilDiv<unsigned>(rows.count, warpsABlock), warpRowThreads, bytes, stream>>>(a_, b_, rows.list, rows.count,
                                                                                                 room, rowCounts_);
  }
  void blockRows(const RowList& rows, const BlockRowRoom& room, std::size_t bytes, cudaStream_t stream) const override
  {
    allowShared(countBlockRows, bytes);
    countBlockRows<<<rows.count, blockRowThreads, bytes, stream>>>(a_, b_, rows.list, room, rowCounts_);
  }

private:
  PatternView a_, b_;
  std::uint32_t* rowCounts_;
};

}

void countByRowsOnCuda(const Context& context, SideStreams& streams, const PatternView& a, const PatternView& b,
                       const RowBinCounts& bins, const std::uint32_t* binnedRows, std::uint32_t* rowCounts)
{
  launchRows(context, streams, Counts(a, b, rowCounts), bins, binnedRows, a.rows, b.columns, 0);
}

}
