#include "Core/Sparse/CsrOnCuda.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/HostCopies.h"

#include <algorithm>

namespace tessera {
namespace {

std::size_t atLeastOne(std::uint64_t count)
{
  return std::max<std::uint64_t>(count, 1); // an allocation of 0 bytes fails
}

}

template <class V>
CsrOnCuda<V>::CsrOnCuda(const Context& context, std::size_t rowCount, std::size_t columnCount,
                        std::uint64_t entryCount)
    : rows(rowCount), columns(columnCount), entries(entryCount), rowStart(context, rowCount + 1),
      column(context, atLeastOne(entryCount)), value(context, atLeastOne(entryCount))
{
}

template <class V>
CsrOnCuda<V> CsrOnCuda<V>::empty(const Context& context, std::size_t rows, std::size_t columns)
{
  CsrOnCuda matrix(context, rows, columns, 0);
  context.stream->fill(matrix.rowStart.span().data(), 0, (rows + 1) * sizeof(std::uint64_t));
  return matrix;
}

template <class V>
CsrOnCuda<V> broughtToCuda(const Context& context, const CsrMatrix<V>& matrix, const char* where)
{
  if (matrix.columns > largestColumnsOnCuda)
    throw Error(ExitCode::usage, std::string(where) + ": " + std::to_string(matrix.columns)
                                     + " columns: too many for a CUDA device. Allowed: up to "
                                     + std::to_string(largestColumnsOnCuda) + ", or --device cpu.");
  CsrOnCuda<V> onCuda(context, matrix.rows, matrix.columns, matrix.entries());
  copyLargeToDevice(context, onCuda.rowStart.span().data(), matrix.rowStart.data(),
                    (matrix.rows + 1) * sizeof(std::uint64_t));
  if (onCuda.entries > 0) {
    copyLargeToDevice(context, onCuda.column.span().data(), matrix.column.data(),
                      onCuda.entries * sizeof(std::uint32_t));
    copyLargeToDevice(context, onCuda.value.span().data(), matrix.value.data(), onCuda.entries * sizeof(V));
  }
  return onCuda;
}

template <class V>
CsrMatrix<V> memoryOnHost(std::size_t rows, std::size_t columns, std::uint64_t entries)
{
  CsrMatrix<V> matrix = emptyMatrix<V>(rows, columns);
  matrix.column = Array<std::uint32_t>(entries);
  matrix.value = Array<V>(entries);
  return matrix;
}

template <class V>
void placeOnHost(const Context& context, const CsrOnCuda<V>& part, CsrMatrix<V>& matrix, std::size_t firstRow,
                 std::uint64_t firstEntry)
{
  // The first start belongs to the rows before, which another thread may be placing.
  std::uint64_t* const ends = matrix.rowStart.data() + firstRow + 1;
  copyLargeToHost(context, ends, part.rowStart.span().data() + 1, part.rows * sizeof(std::uint64_t));
  for (std::size_t row = 0; row < part.rows && firstEntry > 0; ++row)
    ends[row] += firstEntry;
  if (part.entries > 0) {
    copyLargeToHost(context, matrix.column.data() + firstEntry, part.column.span().data(),
                    part.entries * sizeof(std::uint32_t));
    copyLargeToHost(context, matrix.value.data() + firstEntry, part.value.span().data(),
                    part.entries * sizeof(V));
  }
}

template <class V>
CsrMatrix<V> broughtToHost(const Context& context, const CsrOnCuda<V>& onCuda)
{
  CsrMatrix<V> matrix = memoryOnHost<V>(onCuda.rows, onCuda.columns, onCuda.entries);
  placeOnHost(context, onCuda, matrix, 0, 0);
  return matrix;
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(CsrOnCuda);
TESSERA_INSTANTIATE_FOR_NUMBERS(broughtToCuda<V>, memoryOnHost<V>, placeOnHost<V>, broughtToHost<V>);

}
