#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/ColumnWindow.cuh"
#include "Core/Sparse/Analysis/CountedProductsOnCuda.cuh"
#include "Core/Sparse/Analysis/RangeAnalysisOnCuda.h"
#include "Core/Sparse/Analysis/RowBinsOnCuda.cuh"
#include "Core/Sparse/Analysis/TotalsOnHost.cuh"
#include "Core/Sparse/Rows/RowPiecesOnCuda.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int analysisThreads = counterThreads;
// Blocks loop over the rows, so that few of them add to the totals.
constexpr unsigned maxAnalysisBlocks = 4224;
constexpr int finderThreads = 64; // for each group of 8 rows
// Limits of the number of blocks that count tiles, and of sampled groups of 8 rows.
constexpr unsigned maxFinderBlocks = 2112, maxSamples = 256;

/// The choice between tiles and rows, made on the device.
struct Choice {
  double threshold; // tiles are chosen from so many products for each pair of tiles
  bool same;        // B is A
  PatternView a, b;
  double entriesPerTileOfB; // 0: the samples determine it

  __device__ const TileTotals& totalsOfB(const AnalysisTotals& totals) const
  {
    return same ? totals.a : totals.b;
  }
  __device__ bool tilesMayWin(const AnalysisTotals& totals) const
  {
    return entriesPerTileOfB > 0 || totals.tilesMayWin;
  }
  /// To be called once tiles are counted.
  __device__ bool tilesFit(const AnalysisTotals& totals) const
  {
    const TileTotals& ofB = totalsOfB(totals);
    return max(totals.a.tiles, ofB.tiles) <= 0xffffffffull && ofB.maxTilesOfRow <= maxTilesOfRowOnCuda;
  }
  /// Compares estimates: rows take a time of 1 for each product, tiles one of `threshold` for each pair of
  /// tiles and one of productsOfAGroup for the group.
  __device__ bool tilesWin(double perTileOfB, std::size_t group, std::uint32_t tilesOfGroup) const
  {
    if (threshold <= alwaysTiles)
      return true;
    const std::size_t firstRow = group * tileSide, lastRow = min(firstRow + tileSide, a.rows);
    const auto entries = static_cast<double>(a.rowStart[lastRow] - a.rowStart[firstRow]),
               entriesOfB = static_cast<double>(b.rowStart[b.rows] - b.rowStart[0]);
    const double products = entries * entriesOfB / static_cast<double>(b.rows),
                 pairs = products * tileSide * tilesOfGroup / max(entries * perTileOfB, 1.0);
    return products >= threshold * pairs + productsOfAGroup;
  }
  __device__ bool tilesWin(const AnalysisTotals& totals, std::size_t group, std::uint32_t tilesOfGroup) const
  {
    const bool isGiven = entriesPerTileOfB > 0;
    return tilesWin(isGiven ? entriesPerTileOfB : totalsOfB(totals).sampledEntriesPerTile(), group,
                    tilesOfGroup);
  }
};

/// Counts the tiles of a group of 8 rows, by a block. Memory traffic: reads 4 bytes for each entry.
template <int Threads>
__device__ std::uint32_t tilesOfGroup(ColumnWindow<Threads>& window, const PatternView& matrix,
                                      std::size_t group)
{
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
    forEntriesOfBlock<Threads>(matrix, first, last, [&](std::uint64_t, std::uint32_t ofEntry) {
      int column = static_cast<int>(ofEntry >> 3);
      if (inWindow(column, lowest, words))
        window.insert(column);
    });
    tiles += window.countAndRank(words);
  });
  return tiles;
}

/// A sample of the groups of 8 rows: groups at equal distances, or all groups if they are few.
struct Samples {
  std::size_t groups;
  unsigned count;

  __host__ __device__ explicit Samples(const PatternView& matrix)
      : groups(ceilDiv(matrix.rows, tileSide)),
        count(static_cast<unsigned>(groups < maxSamples ? groups : maxSamples))
  {
  }
  __device__ std::size_t groupOf(unsigned sample) const { return sample * groups / count; }
};

constexpr int windowBits = 15; // number of bits of a column in a window
static_assert(windowColumns == 1 << windowBits);

/// Counts the tiles of a sampled group, by a block. The last of `samples` blocks decides whether tiles may be
/// faster somewhere. Memory traffic: writes 4 bytes.
__device__ void sampleTiles(ColumnWindow<analysisThreads>& window, const Choice& choice, const Samples& ofA,
                            const Samples& ofB, unsigned sample, unsigned samples, AnalysisTotals* totals,
                            std::uint32_t* tilesOfA)
{
  __shared__ bool isLast;
  __shared__ unsigned wins;
  const bool inA = sample < ofA.count;
  const PatternView& matrix = inA ? choice.a : choice.b;
  const std::size_t group = inA ? ofA.groupOf(sample) : ofB.groupOf(sample - ofA.count);
  const std::uint32_t tiles = tilesOfGroup(window, matrix, group);
  if (threadIdx.x == 0) {
    wins = 0;
    if (inA)
      tilesOfA[group] = tiles;
    TileTotals& sum = inA ? totals->a : totals->b;
    const std::size_t firstRow = group * tileSide, lastRow = min(firstRow + tileSide, matrix.rows);
    atomicAdd(&sum.sampledTiles, static_cast<unsigned long long>(tiles));
    atomicAdd(&sum.sampledEntries,
              static_cast<unsigned long long>(matrix.rowStart[lastRow] - matrix.rowStart[firstRow]));
    __threadfence();
    isLast = atomicAdd(&totals->samplesDone, 1u) + 1 == samples;
    __threadfence();
  }
  __syncthreads();
  if (!isLast)
    return;
  const TileTotals& totalsOfB = choice.totalsOfB(*totals);
  TileTotals samplesOfB{};
  samplesOfB.sampledEntries = __ldcg(&totalsOfB.sampledEntries);
  samplesOfB.sampledTiles = __ldcg(&totalsOfB.sampledTiles);
  const double perTileOfB = samplesOfB.sampledEntriesPerTile();
  unsigned own = 0;
  for (unsigned i = threadIdx.x; i < ofA.count; i += analysisThreads)
    own += choice.tilesWin(perTileOfB, ofA.groupOf(i), __ldcg(tilesOfA + ofA.groupOf(i)));
  atomicAdd(&wins, own);
  __syncthreads();
  if (threadIdx.x == 0)
    totals->tilesMayWin = wins > 0 && wins * fewestTiledShare >= ofA.count;
}

/// Estimates the entries of one row of C by a block, unless the row is very long. The columns of its products
/// are hashed to bits of a set; with a share s of the bits still 0, the row has about -windowColumns ln(s)
/// entries. Source: K.-Y. Whang, B. T. Vander-Zanden, H. M. Taylor: A linear-time probabilistic counting
/// algorithm for database applications, 1990.
__device__ void sampleEntries(ColumnWindow<analysisThreads>& window, const PatternView& a,
                              const PatternView& b, std::size_t row, AnalysisTotals* totals)
{
  __shared__ unsigned long long products;
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  if (threadIdx.x == 0)
    products = 0;
  __syncthreads();
  const unsigned long long own =
      groupSum<32>(productsOf(a, b.rowStart, first, last, threadIdx.x, analysisThreads));
  if (threadIdx.x % 32 == 0)
    atomicAdd(&products, own);
  window.clear(windowWords);
  if (products == 0 || products > windowColumns)
    return;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32,
                 entriesOfA = static_cast<unsigned>(last - first);
  // Each warp takes equally many entries in each of its turns.
  const unsigned turns = ceilDiv<unsigned>(entriesOfA, analysisThreads);
  const unsigned atOnce = ceilDiv<unsigned>(entriesOfA, turns * counterWarps);
  for (std::uint64_t e = first + warp * atOnce; e < last; e += counterWarps * atOnce)
    forPiecesInAnyOrder(
        lane < atOnce && e + lane < last ? rowOfB(a, b, e + lane) : RowPiece(), b, [&](int column) {
          window.insert(
              static_cast<int>(static_cast<unsigned>(column) * 0x9e3779b1u
                               >> (32 - windowBits))); // Fibonacci hashing: Knuth, volume 3, section 6.4
        });
  const auto bits = static_cast<double>(window.countAndRank(windowWords));
  if (threadIdx.x == 0) {
    const double entries = -windowColumns * log1p(-min(bits, windowColumns - 1.0) / windowColumns);
    atomicAdd(&totals->sampledProducts, products);
    atomicAdd(&totals->sampledEntries, min(static_cast<unsigned long long>(entries + 0.5), products));
  }
}

/// The first kernel of the analysis. The first blocks take one sample each; the others count the products of
/// all rows meanwhile.
__global__ void __launch_bounds__(analysisThreads)
    lookAtRows(Choice choice, Samples ofA, Samples ofB, unsigned tileSamples, bool estimate, int rowsAWarp,
               ProductCounts counts)
{
  __shared__ ColumnWindow<analysisThreads> window;
  const unsigned entrySamples = estimate ? ofA.count : 0, samples = tileSamples + entrySamples;
  if (blockIdx.x < tileSamples)
    sampleTiles(window, choice, ofA, ofB, blockIdx.x, tileSamples, counts.totals, counts.tilesOfA);
  else if (blockIdx.x < samples)
    sampleEntries(window, choice.a, choice.b, ofA.groupOf(blockIdx.x - tileSamples) * tileSide,
                  counts.totals);
  else
    countProducts(choice.a, choice.b.rowStart, choice.b.columns, rowsAWarp, blockIdx.x - samples,
                  gridDim.x - samples, counts);
}

/// Counts the tiles of each group of 8 rows; a block for each group. Groups that are not wanted get 0. Memory
/// traffic: reads 4 bytes for each entry, writes 4 for each group.
__global__ void __launch_bounds__(finderThreads)
    countTiles(Choice choice, PatternView matrix, const std::uint8_t* wanted, const AnalysisTotals* all,
               TileTotals* totals, std::uint32_t* tilesOfGroups)
{
  if (!choice.tilesMayWin(*all))
    return;
  __shared__ ColumnWindow<finderThreads> window;
  const std::size_t groups = ceilDiv(matrix.rows, tileSide);
  unsigned long long sum = 0;
  std::uint32_t most = 0;
  for (std::size_t group = blockIdx.x; group < groups; group += gridDim.x) {
    const std::uint32_t tiles = !wanted || wanted[group] ? tilesOfGroup(window, matrix, group) : 0;
    if (threadIdx.x == 0)
      tilesOfGroups[group] = tiles;
    sum += tiles;
    most = max(most, tiles);
  }
  if (threadIdx.x == 0) {
    atomicAdd(&totals->tiles, sum);
    atomicMax(&totals->maxTilesOfRow, most);
  }
}

/// Chooses tiles or rows for each group of 8 rows, and sorts the rows that do not use tiles into bins by
/// their products. Memory traffic: reads 20 bytes for each row, writes 8.
__global__ void __launch_bounds__(analysisThreads)
    chooseAndBin(Choice choice, const std::uint32_t* tilesOfA, AnalysisTotals* totals,
                 std::uint32_t* products, std::uint32_t* binnedRows, std::uint32_t* madeAt,
                 std::uint32_t* tileGroups, TotalsTarget target)
{
  static_assert(analysisThreads % tileSide == 0);
  __shared__ unsigned long long productsOfBlock;
  if (threadIdx.x == 0)
    productsOfBlock = 0;
  const std::size_t row = blockIdx.x * std::size_t{analysisThreads} + threadIdx.x, group = row / tileSide,
                    rows = choice.a.rows;
  int bin = -1;
  if (row < rows) {
    madeAt[row] = notMade;
    if (choice.tilesMayWin(*totals) && choice.tilesFit(*totals)
        && choice.tilesWin(*totals, group, tilesOfA[group])) {
      products[row] = 0;
      if (row % tileSide == 0)
        tileGroups[atomicAdd(&totals->tileGroups, 1u)] = static_cast<std::uint32_t>(group);
    } else if (products[row] > 0) {
      bin = binOf(rows, products[row], 0);
    }
  }
  addToBins(bin, row, rows, totals->rows, binnedRows);
  addToTotal(bin >= 0 ? products[row] : 0, productsOfBlock, &totals->productsOfRows);
  if (target.host && isLastBlock(&totals->blocksThatChose))
    reportTotals(target, totals, 0);
}

unsigned blocksFor(std::size_t rows, std::size_t rowsOfBlock, unsigned most)
{
  return static_cast<unsigned>(std::min<std::size_t>(ceilDiv(rows, rowsOfBlock), most));
}

}

ProductAnalysisOnCuda::ProductAnalysisOnCuda(const Context& context, const PatternView& a,
                                             const PatternView& b, Buffer<std::uint64_t> given)
    : memory(std::move(given))
{
  constexpr std::size_t alignment = 32; // in elements: 256 bytes, the alignment of device memory
  std::size_t used = 0;
  const auto place = [&](std::size_t bytes) {
    const std::size_t first = used;
    used += ceilDiv(ceilDiv(bytes, sizeof(std::uint64_t)), alignment) * alignment;
    return first;
  };
  const std::size_t groupsOfA = ceilDiv(a.rows, tileSide), groupsOfB = ceilDiv(b.rows, tileSide);
  const std::size_t atTotals = place(sizeof(AnalysisTotals)),
                    atScan = place(scanStateSize(a.rows) * sizeof(unsigned long long));
  const std::size_t behindZeroed = used;
  struct Array {
    std::span<std::uint32_t>& span;
    std::size_t size, at;
  };
  Array arrays[] = {{products, a.rows + 1, 0},         {rowCounts, a.rows + 1, 0},
                    {binnedRows, rowBins * a.rows, 0}, {madeAt, a.rows, 0},
                    {tileGroups, groupsOfA, 0},        {tilesOfA, groupsOfA + 1, 0},
                    {tilesOfB, groupsOfB + 1, 0}};
  for (Array& array : arrays)
    array.at = place(array.size * sizeof(std::uint32_t));
  std::uint64_t* const begin = grown(context, memory, used);
  zeroed = {begin, behindZeroed};
  totals = reinterpret_cast<AnalysisTotals*>(begin + atTotals);
  scanState = {reinterpret_cast<unsigned long long*>(begin + atScan), scanStateSize(a.rows)};
  for (const Array& array : arrays)
    array.span = {reinterpret_cast<std::uint32_t*>(begin + array.at), array.size};
}

namespace {

/// Launches lookAtRows. `sampleTiles`: samples decide whether tiles may be faster. `estimate`: samples
/// estimate the number of entries of C.
void lookAtAllRows(const Context& context, const Choice& choice, bool sampleTiles, bool estimate,
                   ProductAnalysisOnCuda& analysis)
{
  const PatternView& a = choice.a;
  const ProductCounts counts{analysis.products.data(), analysis.rowCounts.data(), analysis.tilesOfA.data(),
                             analysis.totals};
  context.stream->fill(analysis.zeroed.data(), 0, analysis.zeroed.size_bytes());
  const Samples ofA(a), ofB(choice.b);
  const unsigned tileSamples = sampleTiles ? ofA.count + (choice.same ? 0 : ofB.count) : 0,
                 entrySamples = estimate ? ofA.count : 0;
  // Many rows: each warp takes as many rows as it can, so that more loads overlap.
  constexpr std::size_t manyRows = 1 << 14;
  const int rowsAWarp = a.rows <= manyRows ? 8 : 32;
  lookAtRows<<<tileSamples + entrySamples + blocksFor(a.rows, counterWarps * rowsAWarp, maxAnalysisBlocks),
               analysisThreads, 0, cudaStreamOf(context)>>>(choice, ofA, ofB, tileSamples, estimate,
                                                            rowsAWarp, counts);
  checkLaunch("products of each row");
}

void countTilesOf(const Context& context, const Choice& choice, const PatternView& matrix,
                  const Buffer<std::uint8_t>& wanted, AnalysisTotals* totals, TileTotals* ofMatrix,
                  std::span<std::uint32_t> ofGroups)
{
  countTiles<<<blocksFor(matrix.rows, tileSide, maxFinderBlocks), finderThreads, 0, cudaStreamOf(context)>>>(
      choice, matrix, wanted.span().data(), totals, ofMatrix, ofGroups.data());
  checkLaunch("tiles of groups of rows");
}

void chooseForRows(const Context& context, const Choice& choice, const std::uint32_t* tilesOfA,
                   ProductAnalysisOnCuda& analysis, const TotalsTarget& target)
{
  chooseAndBin<<<blocksFor(choice.a.rows, analysisThreads, ~0u), analysisThreads, 0, cudaStreamOf(context)>>>(
      choice, tilesOfA, analysis.totals, analysis.products.data(), analysis.binnedRows.data(),
      analysis.madeAt.data(), analysis.tileGroups.data(), target);
  checkLaunch("bins of rows");
}

}

void analyseOnCuda(const Context& context, const PatternView& a, const PatternView& b, bool same,
                   double threshold, bool estimate, ProductAnalysisOnCuda& analysis, double entriesPerTileOfB,
                   const TotalsTarget& target)
{
  const bool mayWin = threshold != neverTiles;
  const Choice choice{threshold, same, a, b, mayWin ? entriesPerTileOfB : 0};
  AnalysisTotals* const totals = analysis.totals;
  lookAtAllRows(context, choice, mayWin && entriesPerTileOfB == 0, estimate, analysis);
  if (mayWin)
    countTilesOf(context, choice, a, analysis.wantedOfB, totals, &totals->a, analysis.tilesOfA);
  if (mayWin && !same)
    countTilesOf(context, choice, b, analysis.wantedOfB, totals, &totals->b, analysis.tilesOfB);
  chooseForRows(context, choice, analysis.tilesOfA.data(), analysis, target);
}

void sampleOnCuda(const Context& context, const PatternView& a, const PatternView& b, bool same,
                  double threshold, ProductAnalysisOnCuda& analysis, std::uint64_t* productsBefore)
{
  lookAtAllRows(context, {threshold, same, a, b, 0}, true, false, analysis);
  scanOnCuda(context, a.rows, analysis.products.data(), productsBefore);
}

void analyseRangeOnCuda(const Context& context, const PatternView& a, const PatternView& b,
                        std::size_t firstGroup, double threshold, double entriesPerTileOfB, bool estimate,
                        ProductAnalysisOnCuda& analysis, const TotalsTarget& target)
{
  const Choice choice{threshold, false, a, b, entriesPerTileOfB};
  AnalysisTotals* const totals = analysis.totals;
  lookAtAllRows(context, choice, false, estimate, analysis);
  analysis.wantedOfB = wantedGroupsOnCuda(context, a, firstGroup, ceilDiv(b.rows, tileSide));
  countTilesOf(context, choice, b, analysis.wantedOfB, totals, &totals->b, analysis.tilesOfB);
  chooseForRows(context, choice, analysis.tilesOfB.data() + firstGroup, analysis, target);
}

}
