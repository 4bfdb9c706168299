#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/BlockRowsOnCuda.cuh"
#include "Core/Sparse/LongRowsOnCuda.cuh"
#include "Core/Sparse/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/RowProductOnCuda.h"
#include "Core/Sparse/SortedRowsOnCuda.cuh"
#include "Core/Sparse/StagedRowsOnCuda.cuh"
#include "Core/Sparse/WarpRowsOnCuda.cuh"

namespace tessera {

/// Sums in shared memory of a block a row.
constexpr int bytesOfBlockSums = 64 << 10;
/// Shared memory of a block with a warp a row; more, and too few rows are under way.
constexpr std::size_t mostWarpRowBytes = 96 << 10;

/// The pass that computes rows over a semiring.
template <class V, class Ring>
class RowValues final : public RowLaunches {
public:
  RowValues(const CsrView<V>& a, const CsrView<V>& b, const RowTarget<V>& c) : a_(a), b_(b), c_(c) {}

  bool sortedRows(const RowList& rows, int products, cudaStream_t stream) const override
  {
    const auto launch = [&](auto kernel, unsigned lanes) {
      kernel<<<sorterBlocks(rows.count, lanes), sorterThreads, 0, stream>>>(a_, b_, rows.list, rows.count, c_);
    };
    products == 8    ? launch(multiplySortedRows<4, 2, V, Ring>, 4)
    : products == 16 ? launch(multiplySortedRows<4, 4, V, Ring>, 4)
    : products == 32 ? launch(multiplySortedRows<8, 4, V, Ring>, 8)
    : products == 64 ? launch(multiplySortedRows<16, 4, V, Ring>, 16)
                     : launch(multiplySortedRows<32, 4, V, Ring>, 32);
    return true;
  }
  bool stagedRows(const RowList& rows, int products, int threads, const RowLimits& limits, cudaStream_t stream) const override
  {
    StagedRoom room{threads, 1, products, limits.topWords};
    if (room.bytes<V>() > limits.sharedBytes)
      return false;
    room.rowsABlock = rowsABlockFor(threads, room.bytes<V>());
    const std::size_t bytes = room.rowsABlock * room.bytes<V>();
    allowShared(multiplyStagedRows<V, Ring>, bytes);
    multiplyStagedRows<V, Ring><<<ceilDiv<unsigned>(rows.count, room.rowsABlock), threads * room.rowsABlock, bytes, stream>>>(
        a_, b_, rows.list, rows.count, room, c_);
    return true;
  }
  bool warpRows(const RowList& rows, int entries, const RowLimits& limits, cudaStream_t stream) const override
  {
    const WarpRowRoom room{limits.topWords, std::min(entries, limits.words), entries};
    const std::size_t bytes = warpsABlock * room.bytes<V>();
    if (bytes > std::min(mostWarpRowBytes, limits.sharedBytes))
      return false;
    allowShared(multiplyWarpRows<V, Ring>, bytes);
    multiplyWarpRows<V, Ring>
        <<<ceilDiv<unsigned>(rows.count, warpsABlock), warpRowThreads, bytes, stream>>>(a_, b_, rows.list, rows.count, room, c_);
    return true;
  }
  bool longRows(const RowList& rows, int entries, const RowLimits& limits, cudaStream_t stream) const override
  {
    constexpr std::size_t mostDirectColumns = 0xffff; // slots have 16 bits
    const auto columns = static_cast<int>(limits.columns);
    const int slots = ColumnTable::slotsFor(std::min(entries, columns));
    const LongRoom direct{true, columns, 0, 0, limits.words},
        table{false, slots, std::min(entries, columns), limits.topWords, std::min(entries, limits.words)};
    const bool isDirect = limits.columns <= mostDirectColumns && direct.bytes<V>() <= limits.sharedBytes;
    const LongRoom& room = isDirect ? direct : table;
    if (!isDirect && (entries == 0 || table.bytes<V>() > limits.sharedBytes))
      return false;
    allowShared(multiplyLongRows<V, Ring>, room.bytes<V>());
    multiplyLongRows<V, Ring><<<rows.count, longRowThreads, room.bytes<V>(), stream>>>(a_, b_, rows.list, room, c_);
    return true;
  }
  void blockRows(const RowList& rows, const RowLimits& limits, cudaStream_t stream) const override
  {
    BlockRowRoom room = blockRowRoom(limits, bytesOfBlockSums / static_cast<int>(sizeof(V)));
    if (room.bytes<V>() > limits.sharedBytes)
      room.sums /= 4;
    allowShared(multiplyBlockRows<V, Ring>, room.bytes<V>());
    multiplyBlockRows<V, Ring><<<rows.count, blockRowThreads, room.bytes<V>(), stream>>>(a_, b_, rows.list, room, c_);
  }

private:
  CsrView<V> a_, b_;
  RowTarget<V> c_;
};

template <class V>
void multiplyByRowsOnCuda(const Context& context, SideStreams& streams, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                          const RowBinCounts& bins, const std::uint32_t* binnedRows, CsrOnCuda<V>& c, std::uint32_t* overflowed)
{
  const RowTarget<V> target{c.rowStart.span().data(), c.column.span().data(), c.value.span().data(), overflowed};
  withSemiring<V>(semiring, [&](auto ring) {
    launchRows(context, streams, RowValues<V, decltype(ring)>(a, b, target), bins, binnedRows, a.rows, b.columns);
  });
}

}
