#include "Core/Sparse/CsrMatrix.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Rows/SortRow.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <numeric>
#include <type_traits>

namespace tessera {
namespace {

constexpr std::size_t rowsPerChunk = 4096, entriesPerChunk = 65536;

[[noreturn]] void failRow(const std::string& where, std::size_t row, const std::string& wrong,
                          const std::string& allowed)
{
  failAs(ExitCode::unreadableInput, where, "row " + std::to_string(row) + " (from 0): " + wrong, allowed);
}

void checkRowStarts(const MatrixPattern& matrix, const std::string& where)
{
  const auto fail = [&](const std::string& wrong) {
    failAs(ExitCode::unreadableInput, where, wrong, "row starts that rise from 0 to the number of entries");
  };
  if (matrix.rows > largestMatrixSide || matrix.columns > largestMatrixSide)
    failAs(ExitCode::unreadableInput, where,
           std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns)
               + ": too many rows or columns",
           "up to " + std::to_string(largestMatrixSide));
  if (matrix.rowStart.size() != matrix.rows + 1)
    fail(std::to_string(matrix.rowStart.size()) + " row starts for " + std::to_string(matrix.rows) + " rows");
  if (matrix.rowStart[0] != 0)
    fail("the first row starts at " + std::to_string(matrix.rowStart[0]));
  for (std::size_t row = 0; row < matrix.rows; ++row)
    if (matrix.rowStart[row + 1] < matrix.rowStart[row])
      failRow(where, row, "it ends before it starts", "row starts that rise");
  if (matrix.entries() != matrix.column.size())
    fail("row starts end at " + std::to_string(matrix.entries()) + ", but there are "
         + std::to_string(matrix.column.size()) + " columns");
}

/// Returns true if the columns rise. Throws if a column is outside the matrix, or there twice and that is
/// refused.
bool checkRow(const std::uint32_t* column, std::size_t count, std::size_t columns, std::size_t row,
              const std::string& where, RepeatedColumns repeated)
{
  bool rises = true;
  for (std::size_t i = 1; i < count; ++i)
    rises &= column[i - 1] < column[i];
  if (count > 0 && (rises ? column[count - 1] : *std::max_element(column, column + count)) >= columns)
    failRow(where, row,
            "column " + std::to_string(*std::max_element(column, column + count)) + " is outside the matrix",
            "columns from 0 to " + std::to_string(columns) + " - 1");
  if (rises || repeated == RepeatedColumns::allowed)
    return rises;
  std::vector<std::uint32_t> sorted(column, column + count);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    failRow(where, row, "column " + std::to_string(*twice) + " is there twice", "each column once in a row");
  return false;
}

/// For each column the number of entries in the columns before it, which is where its row of the transposed
/// matrix starts.
template <class V>
Array<std::uint64_t> columnStarts(const CsrMatrix<V>& matrix)
{
  Array<std::uint64_t> start(matrix.columns + 1, 0);
  for (const std::uint32_t column : matrix.column)
    ++start[column + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  return start;
}

std::string numberText(double value)
{
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class To, class From>
To convertedValue(From value)
{
  if constexpr (std::is_same_v<To, std::int64_t> && !std::is_same_v<From, std::int64_t>) {
    constexpr double limit = 9223372036854775808.0; // 2^63
    const double whole = value;
    if (!(whole >= -limit && whole < limit) || whole != std::nearbyint(whole))
      failAs(ExitCode::usage, "precision int64",
             "value " + numberText(whole) + ": not a whole number of 64 bits",
             "integer matrices, or precision f64");
  }
  if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>)
    if (std::isfinite(value) && !std::isfinite(static_cast<float>(value)))
      failAs(ExitCode::usage, "single precision", "value " + numberText(value) + ": beyond its range",
             "numbers up to 3.4e38, or precision f64");
  return static_cast<To>(value);
}

}

template <class V>
CsrMatrix<V> emptyMatrix(std::size_t rows, std::size_t columns)
{
  return {{rows, columns, Array<std::uint64_t>(rows + 1, 0), {}}, {}};
}

bool checkPattern(const Context& context, const MatrixPattern& matrix, const std::string& where,
                  RepeatedColumns repeated)
{
  checkRowStarts(matrix, where);
  std::atomic<bool> sorted = true;
  forEachRange(context, matrix.rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    bool rise = true;
    for (std::size_t row = first; row < last; ++row)
      rise &= checkRow(matrix.column.data() + matrix.rowStart[row], matrix.rowEntries(row), matrix.columns,
                       row, where, repeated);
    if (!rise)
      sorted.store(false, std::memory_order_relaxed);
  });
  return sorted;
}

template <class V>
bool checkMatrix(const Context& context, const CsrMatrix<V>& matrix, const std::string& where,
                 RepeatedColumns repeated)
{
  if (matrix.value.size() != matrix.column.size())
    failAs(ExitCode::unreadableInput, where,
           std::to_string(matrix.column.size()) + " columns and " + std::to_string(matrix.value.size())
               + " values",
           "as many of each");
  return checkPattern(context, matrix, where, repeated);
}

template <class V>
CsrMatrix<V> withSortedRows(const Context& context, const CsrMatrix<V>& matrix)
{
  CsrMatrix<V> sorted = matrix;
  sorted.column = Array<std::uint32_t>(matrix.column.size());
  sorted.value = Array<V>(matrix.value.size());
  forEachRange(context, matrix.rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    std::vector<std::pair<std::uint32_t, V>> scratch;
    const std::uint64_t from = matrix.rowStart[first], to = matrix.rowStart[last];
    std::copy(matrix.column.begin() + from, matrix.column.begin() + to, sorted.column.begin() + from);
    std::copy(matrix.value.begin() + from, matrix.value.begin() + to, sorted.value.begin() + from);
    for (std::size_t row = first; row < last; ++row)
      sortRow(sorted.column.data() + matrix.rowStart[row], sorted.value.data() + matrix.rowStart[row],
              matrix.rowEntries(row), scratch);
  });
  return sorted;
}

template <class V>
CsrMatrix<V> transposed(const Context& context, const CsrMatrix<V>& matrix)
{
  requireMemory(static_cast<double>(matrix.columns + 1) * 2 * sizeof(std::uint64_t),
                "a matrix of " + std::to_string(matrix.columns) + " columns, transposed",
                "fewer columns, or more memory");
  CsrMatrix<V> result{
      {matrix.columns, matrix.rows, columnStarts(matrix), Array<std::uint32_t>(matrix.column.size())},
      Array<V>(matrix.value.size())};
  // Each chunk owns a range of columns and reads all entries. Chunks write to separate places, and the
  // entries of a column come in the order of their rows.
  const std::size_t ranges = static_cast<std::size_t>(std::clamp(context.threads, 1, 16));
  forEachChunk(context, ranges, [&](std::size_t range) {
    const auto boundary = [&](std::size_t part) {
      const std::uint64_t entry = matrix.entries() / ranges * part;
      return part == ranges ? matrix.columns
                            : static_cast<std::size_t>(
                                std::lower_bound(result.rowStart.begin(), result.rowStart.end() - 1, entry)
                                - result.rowStart.begin());
    };
    const std::size_t first = boundary(range), last = boundary(range + 1);
    std::vector<std::uint64_t> next(result.rowStart.begin() + first, result.rowStart.begin() + last);
    for (std::size_t row = 0; row < matrix.rows; ++row)
      for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i)
        if (const std::size_t column = matrix.column[i]; column >= first && column < last) {
          const std::uint64_t to = next[column - first]++;
          result.column[to] = static_cast<std::uint32_t>(row);
          result.value[to] = matrix.value[i];
        }
  });
  return result;
}

template <class To, class From>
CsrMatrix<To> converted(const Context& context, const CsrMatrix<From>& matrix)
{
  if constexpr (std::is_same_v<To, From>) {
    return matrix;
  } else {
    CsrMatrix<To> result{matrix, Array<To>(matrix.value.size())};
    forEachRange(context, matrix.value.size(), entriesPerChunk, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        result.value[i] = convertedValue<To>(matrix.value[i]);
    });
    return result;
  }
}

template <class To>
CsrMatrix<To> converted(const Context& context, const AnyCsrMatrix& matrix)
{
  return std::visit([&](const auto& typed) { return converted<To>(context, typed); }, matrix);
}

std::size_t rowsOf(const AnyCsrMatrix& matrix)
{
  return std::visit([](const auto& typed) { return typed.rows; }, matrix);
}

std::size_t columnsOf(const AnyCsrMatrix& matrix)
{
  return std::visit([](const auto& typed) { return typed.columns; }, matrix);
}

std::uint64_t entriesOf(const AnyCsrMatrix& matrix)
{
  return std::visit([](const auto& typed) { return typed.entries(); }, matrix);
}

std::string sizeText(const AnyCsrMatrix& matrix)
{
  return std::to_string(rowsOf(matrix)) + " x " + std::to_string(columnsOf(matrix)) + ", "
         + std::to_string(entriesOf(matrix)) + " entries";
}

TESSERA_INSTANTIATE_FOR_NUMBERS(emptyMatrix<V>, checkMatrix<V>, withSortedRows<V>, transposed<V>);
#define TESSERA_FOR_VALUE(V)                                                                                 \
  template CsrMatrix<V> converted<V>(const Context&, const CsrMatrix<double>&);                              \
  template CsrMatrix<V> converted<V>(const Context&, const CsrMatrix<float>&);                               \
  template CsrMatrix<V> converted<V>(const Context&, const CsrMatrix<std::int64_t>&);                        \
  template CsrMatrix<V> converted<V>(const Context&, const AnyCsrMatrix&);
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
