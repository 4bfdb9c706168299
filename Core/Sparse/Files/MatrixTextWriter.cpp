#include "Core/Sparse/Files/MatrixFormats.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

constexpr std::size_t entriesPerPiece = 32768, piecesAtOnce = 64;

/// Cuts the rows into pieces of about equal numbers of entries. Returns the first row of each and the end.
std::vector<std::size_t> pieceStarts(const AnyCsrMatrix& any)
{
  return std::visit(
      [](const auto& matrix) {
        std::vector<std::size_t> starts{0};
        for (std::size_t row = 0; row < matrix.rows; ++row)
          if (matrix.rowStart[row + 1] - matrix.rowStart[starts.back()] + (row + 1 - starts.back())
              >= entriesPerPiece)
            starts.push_back(row + 1);
        if (starts.back() != matrix.rows)
          starts.push_back(matrix.rows);
        return starts;
      },
      any);
}

void appendIndex(std::string& text, std::uint64_t index)
{
  char digits[20];
  const std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, index);
  text.append(digits, result.ptr);
}

/// Appends a line "row column value" for each entry. Columns are counted from `base`, rows from `rowBase`.
template <class V>
void appendEntries(const CsrMatrix<V>& matrix, bool pattern, std::size_t firstRow, std::size_t lastRow,
                   std::uint64_t base, std::uint64_t rowBase, std::string& text)
{
  char rowText[24];
  for (std::size_t row = firstRow; row < lastRow; ++row) {
    const char* const rowEnd = std::to_chars(rowText, rowText + sizeof rowText, row + rowBase).ptr;
    for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i) {
      text.append(static_cast<const char*>(rowText), rowEnd);
      text.push_back(' ');
      appendIndex(text, matrix.column[i] + base);
      if (!pattern) {
        text.push_back(' ');
        appendNumber(text, matrix.value[i]);
      }
      text.push_back('\n');
    }
  }
}

void writeEntries(const Context& context, const AnyCsrMatrix& any, bool pattern, std::uint64_t base,
                  std::uint64_t rowBase, const ByteSink& sink)
{
  std::visit(
      [&](const auto& matrix) {
        writeRowsInOrder(
            context, any,
            [&](std::size_t first, std::size_t last, std::string& text) {
              appendEntries(matrix, pattern, first, last, base, rowBase, text);
            },
            sink);
      },
      any);
}

/// Throws unless the matrix is the one of a METIS graph: symmetric, without entries on the diagonal and,
/// without `pattern`, with whole values above zero.
template <class V>
void checkGraph(const Context& context, const CsrMatrix<V>& matrix, bool pattern, const std::string& path)
{
  const auto fail = [&](const std::string& wrong) {
    failAs(ExitCode::usage, path, wrong,
           "in a METIS graph, a symmetric matrix with an empty diagonal and whole numbers above zero");
  };
  if (matrix.rows != matrix.columns)
    fail(std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) + " is no graph");
  const CsrMatrix<V> mirrored = transposed(context, matrix);
  for (std::size_t row = 0; row < matrix.rows; ++row)
    for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i) {
      if (matrix.column[i] == row)
        fail("row " + std::to_string(row + 1) + " has an entry on the diagonal");
      if (mirrored.rowStart[row] != matrix.rowStart[row] || mirrored.column[i] != matrix.column[i]
          || (!pattern && mirrored.value[i] != matrix.value[i]))
        fail("row " + std::to_string(row + 1) + " differs from column " + std::to_string(row + 1));
      if (!pattern
          && (!(matrix.value[i] > 0)
              || matrix.value[i] != static_cast<V>(static_cast<std::int64_t>(matrix.value[i]))))
        fail("row " + std::to_string(row + 1) + " has a weight that is no whole number above zero");
    }
}

}

template <class V>
void appendNumber(std::string& text, V value)
{
  char digits[32];
  const std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, result.ptr);
}
TESSERA_INSTANTIATE_FOR_NUMBERS(appendNumber<V>);

void writeRowsInOrder(const Context& context, const AnyCsrMatrix& matrix,
                      const std::function<void(std::size_t, std::size_t, std::string&)>& rowsText,
                      const ByteSink& sink)
{
  const std::vector<std::size_t> starts = pieceStarts(matrix);
  std::vector<std::string> texts(std::min(piecesAtOnce, starts.size() - 1));
  for (std::size_t piece = 0; piece + 1 < starts.size(); piece += piecesAtOnce) {
    const std::size_t count = std::min(piecesAtOnce, starts.size() - 1 - piece);
    forEachChunk(context, count, [&](std::size_t i) {
      texts[i].clear();
      rowsText(starts[piece + i], starts[piece + i + 1], texts[i]);
    });
    for (std::size_t i = 0; i < count; ++i)
      sink(texts[i]);
  }
}

std::string matrixMarketHead(const AnyCsrMatrix& example, bool pattern, std::size_t rows, std::size_t columns,
                             std::uint64_t entries)
{
  const char* const field = pattern                                                    ? "pattern"
                            : std::holds_alternative<CsrMatrix<std::int64_t>>(example) ? "integer"
                                                                                       : "real";
  return std::string("%%MatrixMarket matrix coordinate ") + field + " general\n" + std::to_string(rows) + " "
         + std::to_string(columns) + " " + std::to_string(entries) + "\n";
}

void writeMatrixMarketRows(const Context& context, const AnyCsrMatrix& matrix, bool pattern,
                           std::size_t firstRow, const ByteSink& sink)
{
  writeEntries(context, matrix, pattern, 1, firstRow + 1, sink);
}

void writeMatrixMarket(const Context& context, const AnyCsrMatrix& matrix, bool pattern, const ByteSink& sink)
{
  sink(matrixMarketHead(matrix, pattern, rowsOf(matrix), columnsOf(matrix), entriesOf(matrix)));
  writeMatrixMarketRows(context, matrix, pattern, 0, sink);
}

void writeEdgeList(const Context& context, const AnyCsrMatrix& matrix, bool pattern, const ByteSink& sink)
{
  sink("# " + std::to_string(rowsOf(matrix)) + " nodes, " + std::to_string(entriesOf(matrix)) + " edges\n");
  writeEntries(context, matrix, pattern, 0, 0, sink);
}

void writeMetis(const Context& context, const AnyCsrMatrix& any, bool pattern, const std::string& path,
                const ByteSink& sink)
{
  std::visit(
      [&](const auto& matrix) {
        checkGraph(context, matrix, pattern, path);
        sink(std::to_string(matrix.rows) + " " + std::to_string(matrix.entries() / 2)
             + (pattern ? "\n" : " 001\n"));
        const auto rowsText = [&](std::size_t first, std::size_t last, std::string& text) {
          for (std::size_t row = first; row < last; ++row) {
            for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i) {
              text.append(i > matrix.rowStart[row] ? " " : "");
              appendIndex(text, matrix.column[i] + 1);
              if (!pattern)
                appendIndex(text.append(" "), static_cast<std::uint64_t>(matrix.value[i]));
            }
            text.push_back('\n');
          }
        };
        writeRowsInOrder(context, any, rowsText, sink);
      },
      any);
}

}
