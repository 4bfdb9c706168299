#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Other numbers for the rows and columns of a square matrix, from 0.
struct Numbering {
  std::vector<std::uint32_t> oldOfNew, newOfOld;
};

/// Whether a numbering fills the tiles of the product of a matrix with itself, and what it changes.
struct Reordering {
  std::optional<Numbering> numbering;         // none: the matrix stays as it is
  std::size_t nodes = 0;                      // groups of rows with equal patterns; 0: not counted
  double perPairBefore = 0, perPairAfter = 0; // products for each pair of tiles; 0: not counted
  std::string choice;                         // a line for the log
};

/// Numbers the nodes of a square matrix, which are its rows of equal pattern, by the reverse algorithm of
/// Cuthill and McKee ("Reducing the bandwidth of sparse symmetric matrices", 1969; reversed by A. George,
/// 1971), from a pseudo-peripheral node (A. George and J. Liu, "An implementation of a pseudoperipheral node
/// finder", 1979). Unless `always`, a matrix stays as it is if its rows are hardly ever alike or nearly so,
/// if its tiles are full already, or if the numbering does not halve the pairs of tiles that meet and make
/// tiles faster than rows. Every tie goes to the lower number, so that the result is always the same. Columns
/// must rise. `reordered` receives the matrix by the new numbers if there are any.
template <class V>
Reordering reorderForTiles(const Context&, const CsrMatrix<V>&, bool always, CsrMatrix<V>& reordered);

/// Row i of the result is row rowFrom[i] of the matrix, and column c becomes columnTo[c]. Columns rise.
template <class V>
CsrMatrix<V> renumbered(const Context&, const CsrMatrix<V>&, const std::vector<std::uint32_t>& rowFrom,
                        const std::vector<std::uint32_t>& columnTo);

}
