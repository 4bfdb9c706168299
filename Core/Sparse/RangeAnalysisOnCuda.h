#pragma once

#include "Core/Sparse/ProductAnalysisOnCuda.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// As analyseOnCuda; beside that productsBefore[i] becomes the products of all rows before row i, for i up to the number of rows.
void analyseWithSumsOnCuda(const Context&, const PatternView& a, const PatternView& b, bool same, double threshold,
                           ProductAnalysisOnCuda&, std::uint64_t* productsBefore);

/// The same for A that is rows of B, from row 8 firstGroup on, where `ofSquare` is the analysis of B B: tiles are not counted
/// again. Tiles of A stay uncounted, those of B are totals.b and ofSquare.tilesOfA.
void analyseRangeOnCuda(const Context&, const PatternView& a, const PatternView& b, std::size_t firstGroup, double threshold,
                        const ProductAnalysisOnCuda& ofSquare, ProductAnalysisOnCuda&);

}
