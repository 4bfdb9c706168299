#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// Entries in the order of a file. `value` is empty if each entry is 1.
template <class V>
struct TripletBlock {
  std::vector<std::uint32_t> row, column;
  std::vector<V> value;
};

template <class V>
struct FromTriplets {
  CsrMatrix<V> matrix; // the columns of each row rise
  // Entries of a place that had an entry already. They were added to it, or left out where each entry is 1.
  std::uint64_t duplicates = 0;
};

/// Builds a matrix from entries, whose rows and columns must lie inside it. Entries of the same place are
/// added in the order of the blocks. Throws Error(unreadableInput) `where: ...` if a sum of int64 leaves the
/// range.
template <class V>
FromTriplets<V> matrixFromTriplets(const Context&, std::size_t rows, std::size_t columns,
                                   const std::vector<TripletBlock<V>>&, const std::string& where);

}
