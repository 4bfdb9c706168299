#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/BlockRowsOnCuda.cuh"
#include "Core/Sparse/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/RowProductOnCuda.h"
#include "Core/Sparse/SortedRowsOnCuda.cuh"
#include "Core/Sparse/WarpRowsOnCuda.cuh"

namespace tessera {

/// Sums in shared memory of a block a row.
constexpr int bytesOfBlockSums = 64 << 10;

/// The pass that computes rows over a semiring.
template <class V, class Ring>
class RowValues final : public RowLaunches {
public:
  RowValues(const CsrView<V>& a, const CsrView<V>& b, const RowTarget<V>& c) : a_(a), b_(b), c_(c) {}

  std::size_t warpRowBytes(const WarpRowRoom& room) const override { return room.bytes<V>(); }
  std::size_t blockRowBytes(const BlockRowRoom& room) const override { return room.bytes<V>(); }

  void sortedRows(const RowList& rows, int products, cudaStream_t stream) const override
  {
    const auto launch = [&](auto kernel, unsigned lanes) {
      kernel<<<sorterBlocks(rows.count, lanes), sorterThreads, 0, stream>>>(a_, b_, rows.list, rows.count, c_);
    };
    products == 8    ? launch(multiplySortedRows<8, 1, V, Ring>, 8)
    : products == 16 ? launch(multiplySortedRows<16, 1, V, Ring>, 16)
    : products == 32 ? launch(multiplySortedRows<32, 1, V, Ring>, 32)
                     : launch(multiplySortedRows<32, 2, V, Ring>, 32);
  }
  void warpRows(const RowList& rows, const WarpRowRoom& room, std::size_t bytes, cudaStream_t stream) const override
  {
    allowShared(multiplyWarpRows<V, Ring>, bytes);
    multiplyWarpRows<V, Ring>
        <<<ceilDiv<unsigned>(rows.count, warpsABlock), warpRowThreads, bytes, stream>>>(a_, b_, rows.list, rows.count, room, c_);
  }
  void blockRows(const RowList& rows, const BlockRowRoom& room, std::size_t bytes, cudaStream_t stream) const override
  {
    allowShared(multiplyBlockRows<V, Ring>, bytes);
    multiplyBlockRows<V, Ring><<<rows.count, blockRowThreads, bytes, stream>>>(a_, b_, rows.list, room, c_);
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
    launchRows(context, streams, RowValues<V, decltype(ring)>(a, b, target), bins, binnedRows, a.rows, b.columns,
               bytesOfBlockSums / static_cast<int>(sizeof(V)));
  });
}

}
