#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Sparse/CsrMatrix.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Columns are counted by signed 32-bit numbers on CUDA devices; a matrix has at most so many.
constexpr std::size_t largestColumnsOnCuda = 0x7fffffff;

/// Where a matrix has entries, for kernels. A view of some rows of a larger matrix begins at the start of its
/// first row; starts count from the beginning of `column` all the same.
struct PatternView {
  std::size_t rows = 0, columns = 0;
  const std::uint64_t* rowStart = nullptr; // rows + 1
  const std::uint32_t* column = nullptr;   // rising in each row
};

template <class V>
struct CsrView : PatternView {
  const V* value = nullptr;
};

/// A CsrMatrix on a CUDA device. The columns of each row rise. V is double, float or int64.
template <class V>
struct CsrOnCuda {
  std::size_t rows = 0, columns = 0;
  std::uint64_t entries = 0;
  Buffer<std::uint64_t> rowStart; // rows + 1
  Buffer<std::uint32_t> column;   // entries, or room for more; one element if there are none
  Buffer<V> value;                // as `column`

  CsrOnCuda() = default;
  /// Memory for a matrix of that size, with anything in it.
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

/// A matrix whose columns rise in each row, for example a prepared operand, brought to the context's device.
/// Throws Error(usage) `where: ...` for more than largestColumnsOnCuda columns.
template <class V>
CsrOnCuda<V> broughtToCuda(const Context&, const CsrMatrix<V>&, const char* where);

template <class V>
CsrMatrix<V> broughtToHost(const Context&, const CsrOnCuda<V>&);

}
