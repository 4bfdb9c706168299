#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Semiring.h"
#include "Core/Sparse/SideStreams.h"

#include <cstdint>

namespace tessera {

/// Entries of each row of C = A B that is in a bin.
void countByRowsOnCuda(const Context&, SideStreams&, const PatternView& a, const PatternView& b, const RowBinCounts&,
                       const std::uint32_t* binnedRows, std::uint32_t* rowCounts);

/// Columns and values of these rows, whose bins are those by entries. Within a row, products are added in an order that A and B
/// alone determine. Sets *overflowed to 1 if a sum of int64 is beyond 64 bits. V is float, double or int64.
template <class V>
void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<V>& a, const CsrView<V>& b, const RowBinCounts&,
                          const std::uint32_t* binnedRows, CsrOnCuda<V>& c, std::uint32_t* overflowed);

}
