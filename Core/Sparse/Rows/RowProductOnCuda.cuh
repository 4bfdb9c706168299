#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Rows/BlockRowsOnCuda.cuh"
#include "Core/Sparse/Rows/LongRowsOnCuda.cuh"
#include "Core/Sparse/Rows/RowLaunchesOnCuda.cuh"
#include "Core/Sparse/Rows/RowMovesOnCuda.cuh"
#include "Core/Sparse/Rows/RowProductOnCuda.h"
#include "Core/Sparse/Rows/SortedRowsOnCuda.cuh"
#include "Core/Sparse/Rows/StagedRowsOnCuda.cuh"
#include "Core/Sparse/Rows/WarpRowsOnCuda.cuh"

namespace tessera {

/// Bytes of shared memory for the sums of kernels with a block for each row.
constexpr int bytesOfBlockSums = 64 << 10;
/// The largest shared memory of kernels with a warp for each row. With more of it, too few rows would run at
/// a time.
constexpr std::size_t maxWarpRowBytes = 96 << 10;

inline LongRoom directRoom(const RowLimits& limits)
{
  return {true, static_cast<int>(limits.columns), 0, 0, limits.words};
}

/// True if kernels for long rows have a slot for each column of B.
template <class V>
bool hasSlotForEachColumn(const RowLimits& limits)
{
  constexpr std::size_t maxDirectColumns = 0xffff; // counts before words of columns have 16 bits
  return limits.columns <= maxDirectColumns && directRoom(limits).template bytes<V>() <= limits.sharedBytes;
}

/// The pass that computes the rows of C.
template <class V, class Ring>
class RowValues final : public RowLaunches {
public:
  RowValues(const CsrView<V>& a, const CsrView<V>& b, const RowTarget<V>& c) : a_(a), b_(b), c_(c) {}

  void sortedRows(const SortedBins& bins, cudaStream_t stream) const override
  {
    const auto launch = [&](auto kernel) {
      kernel<<<bins.blocks, sorterThreads, 0, stream>>>(a_, b_, bins, c_);
    };
    if (hasKeysOf<std::uint32_t>(b_.columns))
      launch(multiplySortedRows<V, Ring, std::uint32_t>);
    else
      launch(multiplySortedRows<V, Ring, std::uint64_t>);
  }
  bool stagedRows(const RowList& rows, int products, int threads, const RowLimits& limits,
                  cudaStream_t stream) const override
  {
    if (products <= maxSortedProducts && hasKeysOf<std::uint32_t>(limits.columns))
      return sortedByWarps(rows, products, stream);
    const StagedRoom room{products, limits.topWords};
    if (room.bytes<V>() > limits.sharedBytes)
      return false;
    const std::size_t bytes = room.bytes<V>();
    allowShared(multiplyStagedRows<V, Ring>, bytes);
    multiplyStagedRows<V, Ring><<<rows.count, threads, bytes, stream>>>(a_, b_, rows.list, room, c_);
    return true;
  }
  bool warpRows(const RowList& rows, int entries, const RowLimits& limits, cudaStream_t stream) const override
  {
    const WarpRowRoom room{limits.topWords, std::min(entries, limits.words), entries};
    const std::size_t bytes = warpsABlock * room.bytes<V>();
    if (bytes > std::min(maxWarpRowBytes, limits.sharedBytes))
      return false;
    allowShared(multiplyWarpRows<V, Ring>, bytes);
    multiplyWarpRows<V, Ring><<<ceilDiv<unsigned>(rows.count, warpsABlock), warpRowThreads, bytes, stream>>>(
        a_, b_, rows.list, rows.count, room, c_);
    return true;
  }
  bool longRows(const RowList& rows, int entries, const RowLimits& limits, cudaStream_t stream) const override
  {
    const auto columns = static_cast<int>(limits.columns);
    const int slots = ColumnTable::slotsFor(std::min(entries, columns));
    const LongRoom direct = directRoom(limits), table{false, slots, std::min(entries, columns),
                                                      limits.topWords, std::min(entries, limits.words)};
    const bool isDirect = hasSlotForEachColumn<V>(limits);
    const LongRoom& room = isDirect ? direct : table;
    if (!isDirect && (entries == 0 || table.bytes<V>() > limits.sharedBytes))
      return false;
    allowShared(multiplyLongRows<V, Ring>, room.bytes<V>());
    multiplyLongRows<V, Ring>
        <<<rows.count, longRowThreads, room.bytes<V>(), stream>>>(a_, b_, rows.list, room, c_);
    return true;
  }
  void blockRows(const RowList& rows, const RowLimits& limits, cudaStream_t stream) const override
  {
    BlockRowRoom room = blockRowRoom(limits, bytesOfBlockSums / static_cast<int>(sizeof(V)));
    if (room.bytes<V>() > limits.sharedBytes)
      room.sums /= 4;
    allowShared(multiplyBlockRows<V, Ring>, room.bytes<V>());
    multiplyBlockRows<V, Ring>
        <<<rows.count, blockRowThreads, room.bytes<V>(), stream>>>(a_, b_, rows.list, room, c_);
  }

private:
  bool sortedByWarps(const RowList& rows, int products, cudaStream_t stream) const
  {
    const auto launch = [&](auto kernel) {
      kernel<<<ceilDiv<unsigned>(rows.count, sorterThreads / 32), sorterThreads, 0, stream>>>(a_, b_, rows,
                                                                                              c_);
    };
    products <= maxSortedProducts / 2 ? launch(multiplyWideRows<V, Ring, 8>)
                                      : launch(multiplyWideRows<V, Ring, 16>);
    return true;
  }

  CsrView<V> a_, b_;
  RowTarget<V> c_;
};

/// The pass that computes rows before their sizes are known, as far as that is possible, and counts the
/// entries of the others. Sets `anyCounted` to true if some rows were only counted.
template <class V, class Ring>
class RowsAtOnce final : public RowLaunches {
public:
  RowsAtOnce(const CsrView<V>& a, const CsrView<V>& b, const RowTarget<V>& scratch, bool alsoWide,
             bool& anyCounted)
      : values_(a, b, scratch), counts_(countingPass(a, b, scratch.scratch.count)), alsoWide_(alsoWide),
        anyCounted_(anyCounted)
  {
  }

  void sortedRows(const SortedBins& bins, cudaStream_t stream) const override
  {
    values_.sortedRows(bins, stream);
  }
  bool stagedRows(const RowList& rows, int products, int threads, const RowLimits& limits,
                  cudaStream_t stream) const override
  {
    return (alsoWide_ && values_.stagedRows(rows, products, threads, limits, stream))
           || counted(counts_->stagedRows(rows, products, threads, limits, stream));
  }
  bool warpRows(const RowList& rows, int entries, const RowLimits& limits, cudaStream_t stream) const override
  {
    return counted(counts_->warpRows(rows, entries, limits, stream));
  }
  bool longRows(const RowList& rows, int entries, const RowLimits& limits, cudaStream_t stream) const override
  {
    return (alsoWide_ && hasSlotForEachColumn<V>(limits) && values_.longRows(rows, entries, limits, stream))
           || counted(counts_->longRows(rows, entries, limits, stream));
  }
  void blockRows(const RowList& rows, const RowLimits& limits, cudaStream_t stream) const override
  {
    counts_->blockRows(rows, limits, stream);
    anyCounted_ = true;
  }

private:
  bool counted(bool isLaunched) const
  {
    anyCounted_ |= isLaunched;
    return isLaunched;
  }

  RowValues<V, Ring> values_;
  std::unique_ptr<RowLaunches> counts_;
  bool alsoWide_;
  bool& anyCounted_;
};

template <class V>
RowScratchOnCuda<V> makeRowsOnCuda(const Context& context, SideStreams& streams, Semiring semiring,
                                   const CsrView<V>& a, const CsrView<V>& b, const RowBinCounts& bins,
                                   std::uint32_t room, bool alsoWide, ProductAnalysisOnCuda& analysis)
{
  RowScratchOnCuda<V> scratch{Buffer<std::uint32_t>(context, room), Buffer<V>(context, room)};
  AnalysisTotals* const totals = analysis.totals;
  const ScratchRows rows{analysis.madeAt.data(), analysis.rowCounts.data(), &totals->madeEntries,
                         &totals->anyLeft, room};
  const RowTarget<V> target{nullptr, scratch.column.span().data(), scratch.value.span().data(),
                            &totals->overflowed, rows};
  bool anyCounted = false;
  withSemiring<V>(semiring, [&](auto ring) {
    launchRows(context, streams, RowsAtOnce<V, decltype(ring)>(a, b, target, alsoWide, anyCounted), bins,
               analysis.binnedRows.data(), a.rows, b.columns);
  });
  scratch.mayHaveAll = !anyCounted;
  return scratch;
}

/// Launches the kernel that moves rows from scratch memory to C. At least one row must be there.
template <class V>
void moveRowsOn(cudaStream_t stream, const RowScratchOnCuda<V>& scratch, const std::uint32_t* madeAt,
                std::uint64_t roomOfC, bool areFew, CsrOnCuda<V>& c)
{
  constexpr std::uint64_t shortRow = 16, smallC = 4 << 20; // both in entries
  const auto launch = [&](auto kernel, std::uint64_t blocks, int threads) {
    kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
        c.rows, c.rowStart.span().data(), madeAt, roomOfC, scratch.column.span().data(),
        scratch.value.span().data(), c.column.span().data(), c.value.span().data());
    checkLaunch("rows to their places");
  };
  const auto blocksOfRows = [&](std::uint64_t lanes) {
    return ceilDiv(c.rows * lanes, std::uint64_t{moverThreads});
  };
  if (areFew)
    launch(moveEachRow<V, 32>, blocksOfRows(32), moverThreads);
  else if (roomOfC <= smallC && roomOfC <= c.rows * shortRow)
    launch(moveEachRow<V, 8>, blocksOfRows(8), moverThreads);
  else
    launch(moveRows<V>, ceilDiv(roomOfC, std::uint64_t{entriesAShare}), shareThreads);
}

template <class V>
void moveMadeRowsOnCuda(const Context& context, const RowScratchOnCuda<V>& made, const std::uint32_t* madeAt,
                        std::uint64_t roomOfC, CsrOnCuda<V>& c)
{
  moveRowsOn(cudaStreamOf(context), made, madeAt, roomOfC, false, c);
}

template <class V>
void multiplyByRowsOnCuda(const Context& context, SideStreams& streams, Semiring semiring,
                          const CsrView<V>& a, const CsrView<V>& b, const RowBinCounts& bins,
                          const std::uint32_t* binnedRows, const RowScratchOnCuda<V>* made,
                          const std::uint32_t* madeAt, std::uint64_t madeEntries, CsrOnCuda<V>& c,
                          std::uint32_t* overflowed)
{
  constexpr std::uint64_t fewRows =
      4; // rows in scratch memory are few if they have less than a quarter of the entries
  const RowTarget<V> target{
      c.rowStart.span().data(), c.column.span().data(), c.value.span().data(), overflowed, {}};
  std::function<void(void*)> move;
  if (made && madeEntries > 0)
    move = [&](void* stream) {
      moveRowsOn(static_cast<cudaStream_t>(stream), *made, madeAt, c.entries,
                 madeEntries * fewRows < c.entries, c);
    };
  withSemiring<V>(semiring, [&](auto ring) {
    launchRows(context, streams, RowValues<V, decltype(ring)>(a, b, target), bins, binnedRows, a.rows,
               b.columns, move);
  });
}

}

#define TESSERA_ROW_PRODUCTS(V)                                                                              \
  template void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>&,              \
                                     const CsrView<V>&, const RowBinCounts&, const std::uint32_t*,           \
                                     const RowScratchOnCuda<V>*, const std::uint32_t*, std::uint64_t,        \
                                     CsrOnCuda<V>&, std::uint32_t*);                                         \
  template void moveMadeRowsOnCuda(const Context&, const RowScratchOnCuda<V>&, const std::uint32_t*,         \
                                   std::uint64_t, CsrOnCuda<V>&);                                            \
  template RowScratchOnCuda<V> makeRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>&,     \
                                              const CsrView<V>&, const RowBinCounts&, std::uint32_t, bool,   \
                                              ProductAnalysisOnCuda&);
