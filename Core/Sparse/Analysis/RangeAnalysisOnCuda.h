#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Finds what depends on all rows of A: by samples, whether tiles may be faster and the entries for each
/// tile. Sets productsBefore[i] to the products of all rows before row i, for i up to the number of rows.
/// Finds nothing else and does not wait.
void sampleOnCuda(const Context&, const PatternView& a, const PatternView& b, bool same, double threshold,
                  ProductAnalysisOnCuda&, std::uint64_t* productsBefore);

/// The analysis for an A that is rows of B from row 8 firstGroup on. Tiles are counted only in the groups of
/// B that the product needs; A's own groups are among them, so that tiles of A need no count of their own.
void analyseRangeOnCuda(const Context&, const PatternView& a, const PatternView& b, std::size_t firstGroup,
                        double threshold, double entriesPerTileOfB, bool estimate, ProductAnalysisOnCuda&,
                        const TotalsTarget&);

/// For each of `groups` groups of 8 rows of B: 1 if the product needs it. A is rows of B from row 8
/// firstGroup on, and the product needs these and the rows that A's entries meet.
Buffer<std::uint8_t> wantedGroupsOnCuda(const Context&, const PatternView& a, std::size_t firstGroup,
                                        std::size_t groups);

}
