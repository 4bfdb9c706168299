#include "Core/Sparse/Files/Deflate.h"
#include "Core/Sparse/Files/MatrixFormats.h"
#include "Core/Sparse/Files/Triplets.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/LowerCase.h"

#include <limits>

namespace tessera {
namespace {

enum class Symmetry { general, symmetric, skew };

struct Head {
  bool integer = false, pattern = false;
  Symmetry symmetry = Symmetry::general;
  // `stored` counts the entries in the file; a symmetric matrix has one triangle there.
  std::uint64_t rows = 0, columns = 0, stored = 0;
  std::size_t end = 0; // position of the first byte behind the line of sizes
};

/// Parses the banner: object, storage, field of numbers and symmetry.
void parseBanner(const TextInput& input, std::string_view line, Head& head)
{
  constexpr const char* example = "a first line such as %%MatrixMarket matrix coordinate real general";
  LineWords words(line.data(), line.data() + line.size());
  std::string word[5];
  for (std::string& each : word)
    each = lowerCase(words.word());
  const auto fail = [&](const std::string& wrong, const std::string& allowed) {
    input.failAt(line.data(), wrong, allowed);
  };
  if (word[0] != "%%matrixmarket")
    fail("no Matrix Market file", example);
  if (word[1] != "matrix")
    fail("the object \"" + word[1] + "\" is not read", "matrix");
  if (word[2] != "coordinate")
    fail("the storage \"" + word[2] + "\" is not read"
             + (word[2] == "array" ? "; that is a dense matrix" : ""),
         "coordinate");
  if (word[3] == "complex"
      || (word[3] != "real" && word[3] != "double" && word[3] != "integer" && word[3] != "pattern"))
    fail("the field \"" + word[3] + "\" is not read", "real, double, integer or pattern");
  if (word[4] == "hermitian"
      || (word[4] != "general" && word[4] != "symmetric" && word[4] != "skew-symmetric"))
    fail("the symmetry \"" + word[4] + "\" is not read", "general, symmetric or skew-symmetric");
  if (!words.atEnd())
    fail("more than five words", example);
  head.integer = word[3] == "integer";
  head.pattern = word[3] == "pattern";
  head.symmetry = word[4] == "general"     ? Symmetry::general
                  : word[4] == "symmetric" ? Symmetry::symmetric
                                           : Symmetry::skew;
  if (head.pattern && head.symmetry == Symmetry::skew)
    fail("a pattern has no signs, so it cannot be skew-symmetric", "pattern general or pattern symmetric");
}

void parseSize(const TextInput& input, std::string_view line, Head& head)
{
  try {
    LineWords words(line.data(), line.data() + line.size());
    head.rows = words.index("number of rows", 0, largestMatrixSide);
    head.columns = words.index("number of columns", 0, largestMatrixSide);
    head.stored = words.index("number of entries", 0, std::numeric_limits<std::int64_t>::max());
    words.end("rows, columns and entries");
  } catch (const LineError& error) {
    input.failAt(error.at, error.wrong, error.allowed);
  }
  if (head.symmetry != Symmetry::general && head.rows != head.columns)
    input.failAt(line.data(),
                 "a symmetric matrix of " + std::to_string(head.rows) + " x " + std::to_string(head.columns),
                 "as many rows as columns");
}

/// Empty if the text ends before the line of sizes.
std::optional<Head> findHead(const TextInput& input)
{
  const std::string_view text = input.text();
  Head head;
  parseBanner(input, nextLine(text, head.end), head);
  while (head.end < text.size()) {
    const std::string_view line = nextLine(text, head.end);
    const LineWords words(line.data(), line.data() + line.size());
    if (!words.atEnd() && words.peek() != '%') {
      parseSize(input, line, head);
      return head;
    }
  }
  return std::nullopt;
}

template <class V>
V negated(V value, const char* at)
{
  if constexpr (std::is_same_v<V, std::int64_t>)
    if (value == std::numeric_limits<V>::min())
      throw LineError{at, "the other triangle's value is beyond 64 bits", "whole numbers of 64 bits"};
  return -value;
}

/// Parses the line of one entry. In a symmetric matrix the entry of the other triangle follows it at once.
template <class V>
void parseEntry(const Head& head, LineWords& words, TripletBlock<V>& block)
{
  const char* const start = words.at();
  const auto row = static_cast<std::uint32_t>(words.index("row", 1, head.rows) - 1);
  const auto column = static_cast<std::uint32_t>(words.index("column", 1, head.columns) - 1);
  block.row.push_back(row);
  block.column.push_back(column);
  if (!head.pattern)
    block.value.push_back(words.number<V>("value"));
  words.end(head.pattern ? "row and column in a pattern" : "row, column and value");
  if (head.symmetry == Symmetry::general)
    return;
  if (row < column)
    throw LineError{start, "an entry above the diagonal of a symmetric matrix",
                    "entries on and below the diagonal; the others follow from them"};
  if (row == column && head.symmetry == Symmetry::skew)
    throw LineError{start, "an entry on the diagonal of a skew-symmetric matrix, which is zero there",
                    "entries below the diagonal"};
  if (row == column)
    return;
  block.row.push_back(column);
  block.column.push_back(row);
  if (!head.pattern)
    block.value.push_back(head.symmetry == Symmetry::skew ? negated(block.value.back(), start)
                                                          : block.value.back());
}

/// The number of lines from which the entries come.
template <class V>
std::uint64_t linesIn(const Head& head, const std::vector<TripletBlock<V>>& blocks)
{
  std::uint64_t lines = 0;
  for (const TripletBlock<V>& block : blocks)
    for (std::size_t i = 0; i < block.row.size(); ++i, ++lines)
      i += head.symmetry != Symmetry::general
           && block.row[i] != block.column[i]; // skips the entry of the other triangle
  return lines;
}

template <class V>
MatrixFile readEntries(const Context& context, const TextInput& input, const Head& head)
{
  auto blocks =
      parseLines<TripletBlock<V>>(context, input, head.end, [&](LineWords& words, TripletBlock<V>& block) {
        parseEntry(head, words, block);
      });
  if (const std::uint64_t lines = linesIn(head, blocks); lines != head.stored)
    input.fail(std::to_string(lines) + " entries, but the line of sizes says " + std::to_string(head.stored),
               "as many as it says; the file may have been cut off");
  auto [matrix, duplicates] = matrixFromTriplets<V>(context, head.rows, head.columns, blocks, input.path);
  return {std::move(matrix), head.pattern, duplicates};
}

}

MatrixFile readMatrixMarket(const Context& context, const TextInput& input)
{
  const std::optional<Head> head = findHead(input);
  if (!head)
    input.fail("it ends before the line of sizes", "a line with the numbers of rows, columns and entries");
  return head->integer ? readEntries<std::int64_t>(context, input, *head)
                       : readEntries<double>(context, input, *head);
}

std::optional<double> mostBytesOfMatrixMarket(const TextInput& firstLines)
{
  constexpr double numbersAnEntry = 3;
  if (firstLines.bytes.empty())
    return std::nullopt;
  const std::optional<Head> head = findHead(firstLines);
  if (!head)
    return std::nullopt;
  return freeTextBytes + numbersAnEntry * textBytesANumber * static_cast<double>(head->stored);
}

}
