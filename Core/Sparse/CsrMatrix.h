#pragma once

#include "Core/Compute/Context.h"
#include "Core/Sparse/Array.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace tessera {

/// What rows and columns are counted by; a matrix has fewer of each than this.
constexpr std::size_t largestMatrixSide = 0xffffffffu;

/// Where a sparse matrix has entries, by rows: entries rowStart[i] .. rowStart[i + 1] - 1 are those of row i,
/// from 0.
struct MatrixPattern {
  std::size_t rows = 0, columns = 0;
  Array<std::uint64_t> rowStart{0}; // rows + 1
  Array<std::uint32_t> column;      // from 0, entries

  std::uint64_t entries() const { return rowStart[rows]; }
  std::uint64_t rowEntries(std::size_t row) const { return rowStart[row + 1] - rowStart[row]; }
  /// The same arrays, not only equal ones.
  bool isSame(const MatrixPattern& other) const
  {
    return rowStart.data() == other.rowStart.data() && column.data() == other.column.data()
           && rows == other.rows;
  }
};

/// A sparse matrix. What is not an entry is the semiring's zero; an entry may be zero too ("structural
/// zero"). V is double, float or int64.
template <class V>
struct CsrMatrix : MatrixPattern {
  Array<V> value; // entries

  /// Bytes of the three arrays.
  std::size_t bytes() const
  {
    return rowStart.size() * sizeof(std::uint64_t) + column.size() * (sizeof(std::uint32_t) + sizeof(V));
  }
};

using AnyCsrMatrix = std::variant<CsrMatrix<double>, CsrMatrix<float>, CsrMatrix<std::int64_t>>;

template <class V>
CsrMatrix<V> emptyMatrix(std::size_t rows, std::size_t columns);

/// Throws Error(unreadableInput) `where: row 3: ...` unless row starts rise from 0 to the number of entries
/// and each row's columns are inside the matrix, none twice. True if each row's columns rise.
bool checkPattern(const Context&, const MatrixPattern&, const std::string& where);
/// The same, and there is a value for each entry.
template <class V>
bool checkMatrix(const Context&, const CsrMatrix<V>&, const std::string& where);

/// Columns of each row in rising order; entries of equal columns stay in their order.
template <class V>
CsrMatrix<V> withSortedRows(const Context&, const CsrMatrix<V>&);

/// Rows and columns exchanged; the columns of each row rise if each row had each column once.
template <class V>
CsrMatrix<V> transposed(const Context&, const CsrMatrix<V>&);

/// The same entries as another type. To int64: throws Error(usage) unless each is a whole number in its
/// range; to float: unless finite numbers stay finite.
template <class To, class From>
CsrMatrix<To> converted(const Context&, const CsrMatrix<From>&);
template <class To>
CsrMatrix<To> converted(const Context&, const AnyCsrMatrix&);

std::size_t rowsOf(const AnyCsrMatrix&);
std::size_t columnsOf(const AnyCsrMatrix&);
std::uint64_t entriesOf(const AnyCsrMatrix&);

/// "24696 x 24696, 1751310 entries"
std::string sizeText(const AnyCsrMatrix&);

}
