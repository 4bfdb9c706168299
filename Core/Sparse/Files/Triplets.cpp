#include "Core/Sparse/Files/Triplets.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Rows/SortRow.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace tessera {
namespace {

constexpr std::size_t rowsPerChunk = 4096;

/// Calls body(firstRow, lastRow) for ranges of rows, by several threads. Each call reads all blocks and
/// writes to its own rows only, so no call waits for another.
template <class Body>
void forEachRowRange(const Context& context, std::size_t rows, Body&& body)
{
  const std::size_t ranges = static_cast<std::size_t>(std::clamp(context.threads, 1, 16));
  forEachChunk(context, ranges,
               [&](std::size_t range) { body(rows * range / ranges, rows * (range + 1) / ranges); });
}

template <class V>
Array<std::uint64_t> rowStarts(const Context& context, std::size_t rows,
                               const std::vector<TripletBlock<V>>& blocks)
{
  Array<std::uint64_t> start(rows + 1, 0);
  forEachRowRange(context, rows, [&](std::size_t first, std::size_t last) {
    for (const TripletBlock<V>& block : blocks)
      for (const std::size_t row : block.row)
        if (row >= first && row < last)
          ++start[row + 1];
  });
  std::partial_sum(start.begin(), start.end(), start.begin());
  return start;
}

template <class V>
void scatter(const Context& context, const std::vector<TripletBlock<V>>& blocks, CsrMatrix<V>& matrix)
{
  forEachRowRange(context, matrix.rows, [&](std::size_t first, std::size_t last) {
    std::vector<std::uint64_t> next(matrix.rowStart.begin() + first, matrix.rowStart.begin() + last);
    for (const TripletBlock<V>& block : blocks)
      for (std::size_t i = 0; i < block.row.size(); ++i)
        if (const std::size_t row = block.row[i]; row >= first && row < last) {
          const std::uint64_t to = next[row - first]++;
          matrix.column[to] = block.column[i];
          matrix.value[to] = block.value.empty() ? V(1) : block.value[i];
        }
  });
}

template <class V>
V sum(V a, V b, const std::string& where)
{
  if constexpr (std::is_same_v<V, std::int64_t>) {
    V total = 0;
    if (__builtin_add_overflow(a, b, &total))
      failAs(ExitCode::unreadableInput, where, "the sum of entries of one place is beyond 64 bits",
             "integers whose sums stay in 64 bits");
    return total;
  } else {
    return a + b;
  }
}

/// Joins entries of equal columns in a sorted row, in place. Returns the number of entries left.
template <class V>
std::size_t joinEqual(std::uint32_t* column, V* value, std::size_t count, bool ones, const std::string& where)
{
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (kept > 0 && column[kept - 1] == column[i]) {
      value[kept - 1] = ones ? value[i] : sum(value[kept - 1], value[i], where);
    } else {
      column[kept] = column[i];
      value[kept++] = value[i];
    }
  return kept;
}

/// Moves rows that have become shorter together.
template <class V>
void closeGaps(CsrMatrix<V>& matrix, const std::vector<std::uint64_t>& kept)
{
  std::uint64_t to = 0;
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    const std::uint64_t from = matrix.rowStart[row];
    std::copy_n(matrix.column.begin() + from, kept[row], matrix.column.begin() + to);
    std::copy_n(matrix.value.begin() + from, kept[row], matrix.value.begin() + to);
    matrix.rowStart[row] = to;
    to += kept[row];
  }
  matrix.rowStart[matrix.rows] = to;
  matrix.column.truncate(to);
  matrix.value.truncate(to);
}

}

template <class V>
FromTriplets<V> matrixFromTriplets(const Context& context, std::size_t rows, std::size_t columns,
                                   const std::vector<TripletBlock<V>>& blocks, const std::string& where)
{
  std::size_t entries = 0;
  for (const TripletBlock<V>& block : blocks)
    entries += block.row.size();
  requireMemory(static_cast<double>(rows + 1) * 2 * sizeof(std::uint64_t)
                    + static_cast<double>(entries) * (sizeof(std::uint32_t) + sizeof(V)),
                where + ": a matrix of " + std::to_string(rows) + " rows and " + std::to_string(entries)
                    + " entries",
                "a matrix of fewer rows, or more memory");
  FromTriplets<V> result;
  CsrMatrix<V>& matrix = result.matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.rowStart = rowStarts(context, rows, blocks);
  matrix.column = Array<std::uint32_t>(matrix.entries());
  matrix.value = Array<V>(matrix.entries());
  scatter(context, blocks, matrix);

  const bool ones = std::all_of(blocks.begin(), blocks.end(),
                                [](const TripletBlock<V>& block) { return block.value.empty(); });
  std::vector<std::uint64_t> kept(rows);
  forEachRange(context, rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    std::vector<std::pair<std::uint32_t, V>> scratch;
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t count = matrix.rowEntries(row);
      std::uint32_t* const column = matrix.column.data() + matrix.rowStart[row];
      V* const value = matrix.value.data() + matrix.rowStart[row];
      sortRow(column, value, count, scratch);
      kept[row] = joinEqual(column, value, count, ones, where);
    }
  });
  result.duplicates = matrix.entries() - std::accumulate(kept.begin(), kept.end(), std::uint64_t(0));
  if (result.duplicates > 0)
    closeGaps(matrix, kept);
  return result;
}

TESSERA_INSTANTIATE_FOR_NUMBERS(matrixFromTriplets<V>);

}
