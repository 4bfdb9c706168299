#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Rows/SideStreams.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>

namespace tessera {

/// Counts the entries of each row of C = A B that is in a bin.
void countByRowsOnCuda(const Context&, SideStreams&, const PatternView& a, const PatternView& b,
                       const RowBinCounts&, const std::uint32_t* binnedRows, std::uint32_t* rowCounts);

/// Rows of C in scratch memory, one behind the other in any order. The analysis' `madeAt` has their places.
template <class V>
struct RowScratchOnCuda {
  Buffer<std::uint32_t> column;
  Buffer<V> value;
  bool mayHaveAll = false; // false if some rows are known not to be there
};

/// Computes rows into scratch memory of `room` entries before their sizes are known, and finds the number of
/// entries of all rows in the bins. Some rows are only counted: those with more than maxStagedProducts
/// products (unless sums for all columns fit into shared memory), those that find no room and, unless
/// `alsoWide`, those with more than 128 products. `bins` must be by products.
template <class V>
RowScratchOnCuda<V> makeRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>& a,
                                   const CsrView<V>& b, const RowBinCounts& bins, std::uint32_t room,
                                   bool alsoWide, ProductAnalysisOnCuda&);

/// Moves rows from scratch memory to their places in C. Entries from number `roomOfC` on are left out.
template <class V>
void moveMadeRowsOnCuda(const Context&, const RowScratchOnCuda<V>& made, const std::uint32_t* madeAt,
                        std::uint64_t roomOfC, CsrOnCuda<V>& c);

/// Computes columns and values of the rows in the bins, which must be by entries. Moves the rows that are in
/// scratch memory (`made`, with `madeEntries` entries) to their places. Within a row, the products are added
/// in an order that depends on A and B alone. Sets *overflowed to 1 if a sum of int64 leaves the range. V is
/// float, double or int64.
template <class V>
void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>& a, const CsrView<V>& b,
                          const RowBinCounts&, const std::uint32_t* binnedRows,
                          const RowScratchOnCuda<V>* made, const std::uint32_t* madeAt,
                          std::uint64_t madeEntries, CsrOnCuda<V>& c, std::uint32_t* overflowed);

}
