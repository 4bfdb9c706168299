#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// Entries in the order of a file; `value` is empty where each is 1.
template <class V>
struct TripletBlock {
  std::vector<std::uint32_t> row, column;
  std::vector<V> value;
};

template <class V>
struct FromTriplets {
  CsrMatrix<V> matrix; // columns of each row rise
  std::uint64_t duplicates =
      0; // entries that were added to an earlier one of the same place; where each is 1: left out
};

/// The matrix of all entries of the blocks, whose rows and columns lie inside it. Equal places are summed in
/// the order of the blocks. Throws Error(unreadableInput) `where: ...` if such a sum of int64 overflows.
template <class V>
FromTriplets<V> matrixFromTriplets(const Context&, std::size_t rows, std::size_t columns,
                                   const std::vector<TripletBlock<V>>&, const std::string& where);

}
