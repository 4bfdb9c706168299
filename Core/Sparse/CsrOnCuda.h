#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Sparse/CsrMatrix.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// The largest number of columns of a matrix on a CUDA device, because kernels count columns in signed 32-bit
/// integers.
constexpr std::size_t largestColumnsOnCuda = 0x7fffffff;

/// The pattern of a matrix in device memory, as kernels take it. A view of some rows of a larger matrix has
/// `rowStart` at its first row; the row starts still count from the beginning of `column`.
struct PatternView {
  std::size_t rows = 0, columns = 0;
  const std::uint64_t* rowStart = nullptr; // rows + 1 elements
  const std::uint32_t* column = nullptr;   // rises within each row
};

template <class V>
struct CsrView : PatternView {
  const V* value = nullptr;
};

/// A sparse matrix in the memory of a CUDA device. The columns of each row rise. V is double, float or int64.
template <class V>
struct CsrOnCuda {
  std::size_t rows = 0, columns = 0;
  std::uint64_t entries = 0;
  Buffer<std::uint64_t> rowStart; // rows + 1 elements
  Buffer<std::uint32_t> column;   // one element for each entry, perhaps some spare ones; never fewer than one
  Buffer<V> value;                // as many elements as `column`

  CsrOnCuda() = default;
  /// Memory for a matrix of that size, with undefined contents.
  CsrOnCuda(const Context&, std::size_t rows, std::size_t columns, std::uint64_t entries);
  /// A matrix without entries.
  static CsrOnCuda empty(const Context&, std::size_t rows, std::size_t columns);

  CsrView<V> view() const
  {
    return {{rows, columns, rowStart.span().data(), column.span().data()}, value.span().data()};
  }
  std::uint64_t bytes() const
  {
    return (rows + 1) * sizeof(std::uint64_t) + entries * (sizeof(std::uint32_t) + sizeof(V));
  }
};

/// Copies a matrix to the context's device. The columns of each row must rise. Throws Error(usage) `where:
/// ...` if it has more than largestColumnsOnCuda columns.
template <class V>
CsrOnCuda<V> broughtToCuda(const Context&, const CsrMatrix<V>&, const char* where);

template <class V>
CsrMatrix<V> broughtToHost(const Context&, const CsrOnCuda<V>&);

/// A matrix of the host with memory for so many entries, whose numbers are not set; its rows are empty.
template <class V>
CsrMatrix<V> memoryOnHost(std::size_t rows, std::size_t columns, std::uint64_t entries);

/// Copies rows to their place in a matrix of the host, which has memory for all its entries: from row
/// `firstRow` on, and from entry `firstEntry` on.
template <class V>
void placeOnHost(const Context&, const CsrOnCuda<V>& part, CsrMatrix<V>&, std::size_t firstRow,
                 std::uint64_t firstEntry);

}
