#include "Core/Sparse/Analysis/RowBinsOnCuda.cuh"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/TotalsOnHost.cuh"

namespace tessera {
namespace {

constexpr int binThreads = 256;

/// Sorts rows into bins by the number of their entries. Memory traffic: reads 12 bytes for each row, writes
/// 4.
__global__ void __launch_bounds__(binThreads)
    binBySize(std::size_t rows, const std::uint32_t* products, const std::uint32_t* rowCounts,
              const std::uint32_t* madeAt, const std::uint64_t* rowStart, AnalysisTotals* totals,
              std::uint32_t* binnedRows, TotalsTarget target)
{
  const std::size_t row = blockIdx.x * std::size_t{binThreads} + threadIdx.x;
  const bool any = row < rows && products[row] > 0 && madeAt[row] == notMade;
  addToBins(any ? binOf(rows, products[row], rowCounts[row]) : -1, row, rows, totals->rowsBySize, binnedRows);
  if (isLastBlock(&totals->blocksThatBinned))
    reportTotals(target, totals, rowStart[rows]);
}

}

void binBySizeOnCuda(const Context& context, std::size_t rows, const std::uint64_t* rowStart,
                     ProductAnalysisOnCuda& analysis, const TotalsTarget& target)
{
  binBySize<<<static_cast<unsigned>(ceilDiv(rows, std::size_t{binThreads})), binThreads, 0,
              cudaStreamOf(context)>>>(rows, analysis.products.data(), analysis.rowCounts.data(),
                                       analysis.madeAt.data(), rowStart, analysis.totals,
                                       analysis.binnedRows.data(), target);
  checkLaunch("bins of rows");
}

}
