#include "Core/Sparse/CsrOnCuda.h"

#include "Core/Compute/Error.h"

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
  Stream& stream = *context.stream;
  stream.copyToDevice(onCuda.rowStart.span().data(), matrix.rowStart.data(),
                      (matrix.rows + 1) * sizeof(std::uint64_t));
  if (onCuda.entries > 0) {
    stream.copyToDevice(onCuda.column.span().data(), matrix.column.data(),
                        onCuda.entries * sizeof(std::uint32_t));
    stream.copyToDevice(onCuda.value.span().data(), matrix.value.data(), onCuda.entries * sizeof(V));
  }
  return onCuda;
}

template <class V>
CsrMatrix<V> broughtToHost(const Context& context, const CsrOnCuda<V>& onCuda)
{
  CsrMatrix<V> matrix = emptyMatrix<V>(onCuda.rows, onCuda.columns);
  matrix.column = Array<std::uint32_t>(onCuda.entries);
  matrix.value = Array<V>(onCuda.entries);
  Stream& stream = *context.stream;
  stream.copyToHost(matrix.rowStart.data(), onCuda.rowStart.span().data(),
                    (onCuda.rows + 1) * sizeof(std::uint64_t));
  if (onCuda.entries > 0) {
    stream.copyToHost(matrix.column.data(), onCuda.column.span().data(),
                      onCuda.entries * sizeof(std::uint32_t));
    stream.copyToHost(matrix.value.data(), onCuda.value.span().data(), onCuda.entries * sizeof(V));
  }
  return matrix;
}

#define TESSERA_FOR_VALUE(V)                                                                                 \
  template struct CsrOnCuda<V>;                                                                              \
  template CsrOnCuda<V> broughtToCuda(const Context&, const CsrMatrix<V>&, const char*);                     \
  template CsrMatrix<V> broughtToHost(const Context&, const CsrOnCuda<V>&);
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
