#include "Core/Sparse/Numbers/HalfPrecisionOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/Numbers/HalfPrecision.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int halfThreads = 256, halfRowsABlock = halfThreads / 32;

/// The bits of the magnitude, which order finite numbers as the numbers themselves; 0 if the value is not
/// finite.
__device__ int magnitudeBits(float value)
{
  return isfinite(value) ? __float_as_int(fabsf(value)) : 0;
}

/// The exponent of each row; a warp for each row. Memory traffic: reads 4 bytes for each entry, writes 4 for
/// each row.
__global__ void __launch_bounds__(halfThreads) exponentsOfRows(CsrView<float> matrix, std::int32_t* exponents)
{
  const std::size_t row = blockIdx.x * std::size_t{halfRowsABlock} + threadIdx.x / 32;
  if (row >= matrix.rows)
    return;
  int largest = 0;
  for (std::uint64_t e = matrix.rowStart[row] + threadIdx.x % 32; e < matrix.rowStart[row + 1]; e += 32)
    largest = max(largest, magnitudeBits(matrix.value[e]));
  largest = warpMaximum(largest);
  if (threadIdx.x % 32 == 0)
    exponents[row] = halfExponentFor(__int_as_float(largest));
}

/// The bits of the largest magnitude of each column; a warp for each row. Memory traffic: reads 8 bytes for
/// each entry.
__global__ void __launch_bounds__(halfThreads) largestOfColumns(CsrView<float> matrix, std::int32_t* bits)
{
  const std::size_t row = blockIdx.x * std::size_t{halfRowsABlock} + threadIdx.x / 32;
  if (row >= matrix.rows)
    return;
  for (std::uint64_t e = matrix.rowStart[row] + threadIdx.x % 32; e < matrix.rowStart[row + 1]; e += 32)
    atomicMax(bits + matrix.column[e], magnitudeBits(matrix.value[e]));
}

/// Replaces these bits by the exponent of each column. Memory traffic: reads and writes 4 bytes for each
/// column.
__global__ void __launch_bounds__(halfThreads) exponentsOfBits(std::size_t count, std::int32_t* bits)
{
  const std::size_t i = blockIdx.x * std::size_t{halfThreads} + threadIdx.x;
  if (i < count)
    bits[i] = halfExponentFor(__int_as_float(bits[i]));
}

unsigned blocksFor(std::size_t count, int each)
{
  return static_cast<unsigned>(ceilDiv<std::size_t>(count, each));
}

}

Buffer<std::int32_t> halfExponentsOfRowsOnCuda(const Context& context, const CsrView<float>& matrix)
{
  Buffer<std::int32_t> exponents(context, std::max<std::size_t>(matrix.rows, 1));
  if (matrix.rows > 0)
    exponentsOfRows<<<blocksFor(matrix.rows, halfRowsABlock), halfThreads, 0, cudaStreamOf(context)>>>(
        matrix, exponents.span().data());
  checkLaunch("powers of two of rows");
  return exponents;
}

Buffer<std::int32_t> halfExponentsOfColumnsOnCuda(const Context& context, const CsrView<float>& matrix)
{
  Buffer<std::int32_t> exponents(context, std::max<std::size_t>(matrix.columns, 1));
  std::int32_t* const data = exponents.span().data();
  context.stream->fill(data, 0, exponents.size() * sizeof(std::int32_t));
  if (matrix.rows > 0)
    largestOfColumns<<<blocksFor(matrix.rows, halfRowsABlock), halfThreads, 0, cudaStreamOf(context)>>>(
        matrix, data);
  checkLaunch("largest numbers of columns");
  exponentsOfBits<<<blocksFor(exponents.size(), halfThreads), halfThreads, 0, cudaStreamOf(context)>>>(
      exponents.size(), data);
  checkLaunch("powers of two of columns");
  return exponents;
}

}
