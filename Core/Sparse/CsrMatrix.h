#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Sparse/Array.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

namespace tessera {

/// The largest number of rows or columns of a matrix; row and column numbers have 32 bits.
constexpr std::size_t largestMatrixSide = 0xffffffffu;

/// The places where a sparse matrix has entries, in compressed sparse rows (CSR): entries rowStart[i] ..
/// rowStart[i + 1] - 1 belong to row i. Rows and columns are counted from 0.
struct MatrixPattern {
  std::size_t rows = 0, columns = 0;
  Array<std::uint64_t> rowStart{0}; // rows + 1 elements
  Array<std::uint32_t> column;      // one element for each entry

  std::uint64_t entries() const { return rowStart[rows]; }
  std::uint64_t rowEntries(std::size_t row) const { return rowStart[row + 1] - rowStart[row]; }
  std::span<const std::uint32_t> columnsOf(std::size_t row) const
  {
    return {column.data() + rowStart[row], rowEntries(row)};
  }
  /// True if both patterns share the same arrays; patterns that are only equal give false.
  bool isSame(const MatrixPattern& other) const
  {
    return rowStart.data() == other.rowStart.data() && column.data() == other.column.data()
           && rows == other.rows;
  }
};

/// A sparse matrix in CSR. Places without an entry have the semiring's zero; an entry may have the value
/// zero, too ("structural zero"). V is double, float or int64.
template <class V>
struct CsrMatrix : MatrixPattern {
  Array<V> value; // one element for each entry

  /// The size of the three arrays in bytes.
  std::size_t bytes() const
  {
    return rowStart.size() * sizeof(std::uint64_t) + column.size() * (sizeof(std::uint32_t) + sizeof(V));
  }
};

using AnyCsrMatrix = std::variant<CsrMatrix<double>, CsrMatrix<float>, CsrMatrix<std::int64_t>>;

template <class V>
CsrMatrix<V> emptyMatrix(std::size_t rows, std::size_t columns);

/// Whether a row may have a column twice.
enum class RepeatedColumns { refused, allowed };

/// Checks that row starts rise from 0 to the number of entries, and that each row's columns lie inside the
/// matrix, none twice unless that is allowed; throws Error(unreadableInput) `where: row 3: ...` otherwise.
/// Returns true if the columns of every row rise, so that none is there twice.
bool checkPattern(const Context&, const MatrixPattern&, const std::string& where,
                  RepeatedColumns = RepeatedColumns::refused);
/// Checks the pattern likewise, and that there is one value for each entry.
template <class V>
bool checkMatrix(const Context&, const CsrMatrix<V>&, const std::string& where,
                 RepeatedColumns = RepeatedColumns::refused);

/// The same matrix with the columns of each row in rising order. Entries of the same place keep their order.
template <class V>
CsrMatrix<V> withSortedRows(const Context&, const CsrMatrix<V>&);

/// The transposed matrix. The columns of each of its rows rise if no row of the given matrix has a column
/// twice.
template <class V>
CsrMatrix<V> transposed(const Context&, const CsrMatrix<V>&);

/// The same entries with another value type. To int64: throws Error(usage) unless each value is a whole
/// number in range. To float: throws Error(usage) if a finite number would become infinite.
template <class To, class From>
CsrMatrix<To> converted(const Context&, const CsrMatrix<From>&);
template <class To>
CsrMatrix<To> converted(const Context&, const AnyCsrMatrix&);

std::size_t rowsOf(const AnyCsrMatrix&);
std::size_t columnsOf(const AnyCsrMatrix&);
std::uint64_t entriesOf(const AnyCsrMatrix&);

/// Text for messages, for example "24696 x 24696, 1751310 entries".
std::string sizeText(const AnyCsrMatrix&);

}
