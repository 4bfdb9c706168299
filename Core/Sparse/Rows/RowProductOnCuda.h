#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Rows/SideStreams.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>

namespace tessera {

/// Entries of each row of C = A B that is in a bin.
void countByRowsOnCuda(const Context&, SideStreams&, const PatternView& a, const PatternView& b,
                       const RowBinCounts&, const std::uint32_t* binnedRows, std::uint32_t* rowCounts);

/// Rows of C, one behind the other in any order; `madeAt` of an analysis has where.
template <class V>
struct RowScratchOnCuda {
  Buffer<std::uint32_t> column;
  Buffer<V> value;
  bool mayHaveAll = false; // no row is known not to be made
};

/// Columns and values of rows before their number of entries is known, and the number of entries of each row,
/// also of those that are not made: rows of more than mostStagedProducts products, unless all columns fit
/// into shared memory; those for which scratch memory of `room` entries has no room; and unless `alsoWide`
/// all of more than 128 products. `bins` are those by products.
template <class V>
RowScratchOnCuda<V> makeRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>& a,
                                   const CsrView<V>& b, const RowBinCounts& bins, std::uint32_t room,
                                   bool alsoWide, ProductAnalysisOnCuda&);

/// Brings rows that were made to their places in C; what lies behind `roomOfC` entries is left out.
template <class V>
void moveMadeRowsOnCuda(const Context&, const RowScratchOnCuda<V>& made, const std::uint32_t* madeAt,
                        std::uint64_t roomOfC, CsrOnCuda<V>& c);

/// Columns and values of these rows, whose bins are those by entries; rows that were made, if any were, are
/// brought to their places; they have `madeEntries`. Within a row, products are added in an order that A and
/// B alone determine. Sets *overflowed to 1 if a sum of int64 is beyond 64 bits. V is float, double or int64.
template <class V>
void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>& a, const CsrView<V>& b,
                          const RowBinCounts&, const std::uint32_t* binnedRows,
                          const RowScratchOnCuda<V>* made, const std::uint32_t* madeAt,
                          std::uint64_t madeEntries, CsrOnCuda<V>& c, std::uint32_t* overflowed);

}
