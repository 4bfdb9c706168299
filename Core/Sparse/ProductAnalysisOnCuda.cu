#include "Core/Sparse/ProductAnalysisOnCuda.h"

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/ColumnWindow.cuh"
#include "Core/Sparse/RangeAnalysisOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threads = 256, lanesARow = 4, rowsABlock = threads / lanesARow;
constexpr unsigned mostBlocks = 1056; // they go on until all rows are done, so that few add to the totals
constexpr int finderThreads = 64;
constexpr unsigned mostFinderBlocks = 8448;

__device__ std::uint64_t entriesOf(const PatternView& matrix)
{
  return matrix.rowStart[matrix.rows] - matrix.rowStart[0];
}

/// Sum over the block, added to *total.
__device__ void addToTotal(unsigned long long value, unsigned long long& ofBlock, unsigned long long* total)
{
  value = groupSum<32>(value);
  if (threadIdx.x % 32 == 0 && value > 0)
    atomicAdd(&ofBlock, value);
  __syncthreads();
  if (threadIdx.x == 0 && ofBlock > 0)
    atomicAdd(total, ofBlock);
}

/// Products of each row of A B, their sum and that of the entries that C may have; four lanes a row. Reads 4 bytes an entry of A
/// and 16 of the row starts of B for it, and 8 a row; writes 8 a row.
__global__ void __launch_bounds__(threads) countProducts(PatternView a, const std::uint64_t* rowStartOfB, std::size_t columnsOfB,
                                                         std::uint32_t* products, std::uint32_t* rowCounts, AnalysisTotals* totals)
{
  __shared__ unsigned long long productsOfBlock, boundOfBlock;
  if (threadIdx.x == 0)
    productsOfBlock = boundOfBlock = 0;
  __syncthreads();
  const int lane = threadIdx.x % lanesARow;
  unsigned long long all = 0, bound = 0;
  for (std::size_t first = blockIdx.x * std::size_t{rowsABlock}; first < a.rows; first += gridDim.x * std::size_t{rowsABlock}) {
    const std::size_t row = first + threadIdx.x / lanesARow;
    unsigned long long sum = 0;
    if (row < a.rows)
      for (std::uint64_t e = a.rowStart[row] + lane, end = a.rowStart[row + 1]; e < end; e += lanesARow) {
        const std::uint32_t k = a.column[e];
        sum += rowStartOfB[k + 1] - rowStartOfB[k];
      }
    sum = groupSum<lanesARow>(sum);
    if (row < a.rows && lane == 0) {
      products[row] = static_cast<std::uint32_t>(min(sum, 0xffffffffull));
      rowCounts[row] = 0;
      all += sum;
      bound += min(sum, static_cast<unsigned long long>(columnsOfB));
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0)
    rowCounts[a.rows] = 0;
  addToTotal(all, productsOfBlock, &totals->products);
  addToTotal(bound, boundOfBlock, &totals->entriesBound);
}

/// How often the entries of a row go on in another tile than the one before. Reads 4 bytes an entry.
__global__ void __launch_bounds__(threads) countSegments(PatternView matrix, TileTotals* totals)
{
  __shared__ unsigned long long ofBlock;
  if (threadIdx.x == 0)
    ofBlock = 0;
  __syncthreads();
  unsigned long long segments = 0;
  for (std::size_t first = blockIdx.x * std::size_t{rowsABlock}; first < matrix.rows;
       first += gridDim.x * std::size_t{rowsABlock}) {
    const std::size_t row = first + threadIdx.x / lanesARow;
    if (row >= matrix.rows)
      continue;
    const std::uint64_t start = matrix.rowStart[row], end = matrix.rowStart[row + 1];
    for (std::uint64_t e = start + threadIdx.x % lanesARow; e < end; e += lanesARow)
      segments += e == start || matrix.column[e] >> 3 != matrix.column[e - 1] >> 3;
  }
  addToTotal(segments, ofBlock, &totals->segments);
}

/// From what the choice between tiles and rows is made on the device.
struct Choice {
  double threshold; // products for each pair of tiles, from which tiles win
  bool same;        // B is A
  PatternView a, b;
  bool groupByGroup;

  __device__ const TileTotals& totalsOfB(const AnalysisTotals& totals) const { return same ? totals.a : totals.b; }
  /// Tiles have no more entries than 8 segments: if even such ones would not do, they need not be counted.
  __device__ bool tilesMayWin(const AnalysisTotals& totals) const
  {
    if (groupByGroup)
      return true;
    const double perSegmentOfA = static_cast<double>(entriesOf(a)) / max(totals.a.segments, 1ull);
    const double perSegmentOfB = static_cast<double>(entriesOf(b)) / max(totalsOfB(totals).segments, 1ull);
    return 8 * perSegmentOfA * perSegmentOfB >= threshold;
  }
  /// Once tiles are counted.
  __device__ bool tilesFit(const AnalysisTotals& totals) const
  {
    const TileTotals& ofB = totalsOfB(totals);
    return max(totals.a.tiles, ofB.tiles) <= 0xffffffffull && ofB.mostOfRow <= mostTilesOfRowOnCuda;
  }
  __device__ bool tilesWin(const AnalysisTotals& totals, std::size_t group, std::uint32_t tilesOfGroup) const
  {
    const std::size_t firstRow = group * tileSide, lastRow = min(firstRow + tileSide, a.rows);
    const double perTile = static_cast<double>(a.rowStart[lastRow] - a.rowStart[firstRow]) / max(tilesOfGroup, 1u);
    const double perTileOfB = static_cast<double>(entriesOf(b)) / max(totalsOfB(totals).tiles, 1ull);
    return perTile * perTileOfB >= threshold * tileSide;
  }
};

/// Tiles of each group of 8 rows; a block a group. Reads 4 bytes an entry twice, writes 4 a group.
__global__ void __launch_bounds__(finderThreads)
    countTiles(Choice choice, PatternView matrix, const AnalysisTotals* all, TileTotals* totals, std::uint32_t* tilesOfGroups)
{
  if (!choice.tilesMayWin(*all))
    return;
  __shared__ ColumnWindow<finderThreads> window;
  const std::size_t groups = ceilDiv(matrix.rows, tileSide);
  unsigned long long sum = 0;
  std::uint32_t most = 0;
  for (std::size_t group = blockIdx.x; group < groups; group += gridDim.x) {
    const std::uint64_t first = matrix.rowStart[group * tileSide];
    const std::uint64_t last = matrix.rowStart[min(group * tileSide + tileSide, matrix.rows)];
    window.findRange([&](auto&& report) {
      const std::size_t row = group * tileSide + threadIdx.x;
      if (threadIdx.x >= tileSide || row >= matrix.rows || matrix.rowStart[row] == matrix.rowStart[row + 1])
        return;
      report(static_cast<int>(matrix.column[matrix.rowStart[row]] >> 3),
             static_cast<int>(matrix.column[matrix.rowStart[row + 1] - 1] >> 3));
    });
    std::uint32_t tiles = 0;
    forWindows(window, [&](int lowest, int words) {
      window.clear(words);
      for (std::uint64_t e = first + threadIdx.x; e < last; e += finderThreads) {
        int column = static_cast<int>(matrix.column[e] >> 3);
        if (inWindow(column, lowest, words))
          window.insert(column);
      }
      tiles += window.countAndRank(words);
    });
    if (threadIdx.x == 0)
      tilesOfGroups[group] = tiles;
    sum += tiles;
    most = max(most, tiles);
  }
  if (threadIdx.x == 0) {
    atomicAdd(&totals->tiles, sum);
    atomicMax(&totals->mostOfRow, most);
  }
}

__device__ int binOf(std::uint32_t products, std::uint32_t size)
{
  if (products <= 64)
    return products <= 8 ? sorted8 : products <= 16 ? sorted16 : products <= 32 ? sorted32 : sorted64;
  return size <= 256 ? warp256 : size <= 512 ? warp512 : size <= 1024 ? warp1024 : wholeBlock;
}

/// Adds the rows of this block to the lists of their bins, none if the bin is -1. Every thread must call it.
__device__ void addToBins(int bin, std::size_t row, std::size_t rows, RowBinCounts& counts, std::uint32_t* binnedRows)
{
  __shared__ std::uint32_t own[rowBins], base[rowBins];
  if (threadIdx.x < rowBins)
    own[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t at = bin >= 0 ? atomicAdd(&own[bin], 1u) : 0;
  __syncthreads();
  if (threadIdx.x < rowBins && own[threadIdx.x] > 0)
    base[threadIdx.x] = atomicAdd(&counts.of[threadIdx.x], own[threadIdx.x]);
  __syncthreads();
  if (bin >= 0)
    binnedRows[bin * rows + base[bin] + at] = static_cast<std::uint32_t>(row);
}

/// Tiles or rows for each group, and bins of rows by their products. Reads 20 bytes a row, writes 4.
__global__ void __launch_bounds__(threads)
    chooseAndBin(Choice choice, const std::uint32_t* tilesOfA, AnalysisTotals* totals, std::uint32_t* products,
                 std::uint32_t* binnedRows, std::uint32_t* tileGroups)
{
  static_assert(threads % tileSide == 0);
  const std::size_t row = blockIdx.x * std::size_t{threads} + threadIdx.x, group = row / tileSide, rows = choice.a.rows;
  int bin = -1;
  if (row < rows) {
    if (choice.tilesMayWin(*totals) && choice.tilesFit(*totals) && choice.tilesWin(*totals, group, tilesOfA[group])) {
      products[row] = 0;
      if (row % tileSide == 0)
        tileGroups[atomicAdd(&totals->tileGroups, 1u)] = static_cast<std::uint32_t>(group);
    } else if (products[row] > 0) {
      bin = binOf(products[row], products[row]);
    }
  }
  addToBins(bin, row, rows, totals->rows, binnedRows);
}

/// Reads 8 bytes a row, writes 4.
__global__ void __launch_bounds__(threads)
    binBySize(std::size_t rows, const std::uint32_t* products, const std::uint32_t* rowCounts, AnalysisTotals* totals,
              std::uint32_t* binnedRows)
{
  const std::size_t row = blockIdx.x * std::size_t{threads} + threadIdx.x;
  const bool any = row < rows && products[row] > 0;
  addToBins(any ? binOf(products[row], rowCounts[row]) : -1, row, rows, totals->rowsBySize, binnedRows);
}

unsigned blocksFor(std::size_t rows, std::size_t rowsOfBlock, unsigned most)
{
  return static_cast<unsigned>(std::min<std::size_t>(ceilDiv(rows, rowsOfBlock), most));
}

}

ProductAnalysisOnCuda::ProductAnalysisOnCuda(const Context& context, const PatternView& a, const PatternView& b)
    : totals(context, 1), products(context, a.rows + 1), rowCounts(context, a.rows + 1), binnedRows(context, rowBins * a.rows),
      tileGroups(context, ceilDiv(a.rows, tileSide)), tilesOfA(context, ceilDiv(a.rows, tileSide) + 1),
      tilesOfB(context, ceilDiv(b.rows, tileSide) + 1)
{
}

namespace {

void countProductsOfRows(const Context& context, const PatternView& a, const PatternView& b, ProductAnalysisOnCuda& analysis)
{
  AnalysisTotals* const totals = analysis.totals.span().data();
  context.stream->fill(totals, 0, sizeof(AnalysisTotals));
  countProducts<<<blocksFor(a.rows, rowsABlock, mostBlocks), threads, 0, cudaStreamOf(context)>>>(
      a, b.rowStart, b.columns, analysis.products.span().data(), analysis.rowCounts.span().data(), totals);
  checkLaunch("products of each row");
}

void countTilesOfBoth(const Context& context, const Choice& choice, ProductAnalysisOnCuda& analysis)
{
  const cudaStream_t stream = cudaStreamOf(context);
  AnalysisTotals* const totals = analysis.totals.span().data();
  const auto segments = [&](const PatternView& matrix, TileTotals* ofMatrix) {
    countSegments<<<blocksFor(matrix.rows, rowsABlock, mostBlocks), threads, 0, stream>>>(matrix, ofMatrix);
    checkLaunch("segments of rows");
  };
  const auto tiles = [&](const PatternView& matrix, TileTotals* ofMatrix, Buffer<std::uint32_t>& ofGroups) {
    countTiles<<<blocksFor(matrix.rows, tileSide, mostFinderBlocks), finderThreads, 0, stream>>>(choice, matrix, totals, ofMatrix,
                                                                                                 ofGroups.span().data());
    checkLaunch("tiles of groups of rows");
  };
  segments(choice.a, &totals->a);
  if (!choice.same)
    segments(choice.b, &totals->b);
  tiles(choice.a, &totals->a, analysis.tilesOfA);
  if (!choice.same)
    tiles(choice.b, &totals->b, analysis.tilesOfB);
}

void chooseForRows(const Context& context, const Choice& choice, const std::uint32_t* tilesOfA, ProductAnalysisOnCuda& analysis)
{
  chooseAndBin<<<blocksFor(choice.a.rows, threads, ~0u), threads, 0, cudaStreamOf(context)>>>(
      choice, tilesOfA, analysis.totals.span().data(), analysis.products.span().data(), analysis.binnedRows.span().data(),
      analysis.tileGroups.span().data());
  checkLaunch("bins of rows");
}

}

void analyseOnCuda(const Context& context, const PatternView& a, const PatternView& b, bool same, double threshold,
                   ProductAnalysisOnCuda& analysis, bool groupByGroup)
{
  const Choice choice{threshold, same, a, b, groupByGroup && threshold != neverTiles};
  countProductsOfRows(context, a, b, analysis);
  if (threshold != neverTiles)
    countTilesOfBoth(context, choice, analysis);
  chooseForRows(context, choice, analysis.tilesOfA.span().data(), analysis);
}

void analyseWithSumsOnCuda(const Context& context, const PatternView& a, const PatternView& b, bool same, double threshold,
                           ProductAnalysisOnCuda& analysis, std::uint64_t* productsBefore)
{
  const Choice choice{threshold, same, a, b, false};
  countProductsOfRows(context, a, b, analysis);
  scanOnCuda(context, a.rows, analysis.products.span().data(), productsBefore); // those of rows by tiles are dropped later
  if (threshold != neverTiles)
    countTilesOfBoth(context, choice, analysis);
  chooseForRows(context, choice, analysis.tilesOfA.span().data(), analysis);
}

void analyseRangeOnCuda(const Context& context, const PatternView& a, const PatternView& b, std::size_t firstGroup,
                        double threshold, const ProductAnalysisOnCuda& ofSquare, ProductAnalysisOnCuda& analysis)
{
  countProductsOfRows(context, a, b, analysis);
  context.stream->copyOnDevice(&analysis.totals.span().data()->b, &ofSquare.totals.span().data()->a, sizeof(TileTotals));
  chooseForRows(context, {threshold, false, a, b, true}, ofSquare.tilesOfA.span().data() + firstGroup, analysis);
}

void binBySizeOnCuda(const Context& context, std::size_t rows, ProductAnalysisOnCuda& analysis)
{
  binBySize<<<blocksFor(rows, threads, ~0u), threads, 0, cudaStreamOf(context)>>>(
      rows, analysis.products.span().data(), analysis.rowCounts.span().data(), analysis.totals.span().data(),
      analysis.binnedRows.span().data());
  checkLaunch("bins of rows");
}

}
