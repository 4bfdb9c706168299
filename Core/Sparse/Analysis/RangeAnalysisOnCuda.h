#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// What all rows of A together decide: whether tiles may win, and entries for each tile, from samples.
/// productsBefore[i] becomes the products of all rows before row i, for i up to the number of rows. Nothing
/// else of the analysis is found. Nothing waits.
void sampleOnCuda(const Context&, const PatternView& a, const PatternView& b, bool same, double threshold,
                  ProductAnalysisOnCuda&, std::uint64_t* productsBefore);

/// As analyseOnCuda for A that is rows of B, from row 8 firstGroup on: tiles are counted of those groups of B
/// alone that the product needs, among which are A's own, and tiles of A are not counted again.
void analyseRangeOnCuda(const Context&, const PatternView& a, const PatternView& b, std::size_t firstGroup,
                        double threshold, double entriesPerTileOfB, bool estimate, ProductAnalysisOnCuda&,
                        const TotalsTarget&);

/// Which of `groups` groups of 8 rows of B a product needs whose A is rows of B from row 8 firstGroup on: its
/// own and those that it meets.
Buffer<std::uint8_t> wantedGroupsOnCuda(const Context&, const PatternView& a, std::size_t firstGroup,
                                        std::size_t groups);

}
