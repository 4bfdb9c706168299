#include "Core/Sparse/Rows/RowSharesOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

namespace tessera {
namespace {

/// Finds where each range begins: the row, rounded to a multiple of 8, before which lies its share of all
/// products. A thread for each range. Memory traffic: reads 8 log2(rows) bytes for each range.
__global__ void findStarts(const std::uint64_t* productsBefore, std::size_t rows, unsigned parts,
                           std::uint64_t* starts)
{
  const unsigned part = threadIdx.x;
  if (part > parts)
    return;
  const std::uint64_t total = productsBefore[rows],
                      wanted = total / parts * part + total % parts * part / parts;
  std::size_t low = 0, high = rows; // candidates for the first row with at least `wanted` products before it
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (productsBefore[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  starts[part] = part == 0 ? 0 : part == parts ? rows : min((low + tileSide / 2) / tileSide * tileSide, rows);
}

}

std::vector<std::size_t> balancedRowStarts(const Context& context, const PatternView& a, const PatternView& b,
                                           std::size_t parts)
{
  if (a.rows == 0)
    return std::vector<std::size_t>(parts + 1);
  ProductAnalysisOnCuda analysis(context, a, b);
  analyseOnCuda(context, a, b, false, neverTiles, false, analysis);
  Buffer<std::uint64_t> productsBefore(context, a.rows + 1);
  scanOnCuda(context, a.rows, analysis.products.data(), productsBefore.span().data());
  return balancedRowStarts(context, productsBefore, parts);
}

std::vector<std::size_t> balancedRowStarts(const Context& context,
                                           const Buffer<std::uint64_t>& productsBefore, std::size_t parts)
{
  Buffer<std::uint64_t> starts(context, parts + 1);
  findStarts<<<1, static_cast<unsigned>(parts + 1), 0, cudaStreamOf(context)>>>(
      productsBefore.span().data(), productsBefore.size() - 1, static_cast<unsigned>(parts),
      starts.span().data());
  checkLaunch("ranges of rows");
  const std::vector<std::uint64_t> found = starts.toHost(context);
  return {found.begin(), found.end()};
}

}
