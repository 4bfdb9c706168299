#include "Core/Sparse/Numbers/HalfPrecision.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t rowsPerChunk = 1024;

float scaled(float value, std::int32_t exponent)
{
  return std::isfinite(value)
             ? static_cast<float>(roundedToHalf(std::ldexp(static_cast<double>(value), -exponent)))
             : value;
}

float finiteMagnitude(float value)
{
  return std::isfinite(value) ? std::fabs(value) : 0;
}

HalfScaled withNewValues(const CsrMatrix<float>& matrix)
{
  HalfScaled result{matrix, {}};
  result.matrix.value = Array<float>(matrix.value.size());
  return result;
}

}

HalfScaled halfScaledRows(const Context& context, const CsrMatrix<float>& matrix)
{
  HalfScaled result = withNewValues(matrix);
  result.exponent.resize(matrix.rows);
  forEachRange(context, matrix.rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      float largest = 0;
      for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i)
        largest = std::max(largest, finiteMagnitude(matrix.value[i]));
      result.exponent[row] = halfExponentFor(largest);
      for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i)
        result.matrix.value[i] = scaled(matrix.value[i], result.exponent[row]);
    }
  });
  return result;
}

HalfScaled halfScaledColumns(const Context& context, const CsrMatrix<float>& matrix)
{
  HalfScaled result = withNewValues(matrix);
  std::vector<float> largest(matrix.columns);
  for (std::size_t i = 0; i < matrix.value.size(); ++i)
    largest[matrix.column[i]] = std::max(largest[matrix.column[i]], finiteMagnitude(matrix.value[i]));
  result.exponent.resize(matrix.columns);
  std::transform(largest.begin(), largest.end(), result.exponent.begin(), halfExponentFor);
  forEachRange(context, matrix.rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    for (std::uint64_t i = matrix.rowStart[first]; i < matrix.rowStart[last]; ++i)
      result.matrix.value[i] = scaled(matrix.value[i], result.exponent[matrix.column[i]]);
  });
  return result;
}

}
