#include "Core/Sparse/SpGemmOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/RangeAnalysisOnCuda.h"
#include "Core/Sparse/Numbers/NumberChecksOnCuda.h"
#include "Core/Sparse/ProductMemoryOnCuda.h"
#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"
#include "Core/Sparse/Rows/RowProductOnCuda.h"
#include "Core/Sparse/Tiles/TilesOnCuda.h"

#include <algorithm>
#include <optional>
#include <string>

namespace tessera {
namespace {

constexpr std::size_t maxNarrowColumns = 1 << 16;
constexpr std::size_t maxKeptBytes = 16 << 20; // the memory of larger analyses is not kept
// Spare room of C that is kept: up to a quarter of its entries and 4096 more.
constexpr std::uint64_t maxSpareShare = 4, fewEntries = 4096;
constexpr const char* notFiniteText = "some numbers are not finite";

[[noreturn]] void failAlgorithm(const std::string& algorithm, const std::string& wrong)
{
  throw Error(ExitCode::usage,
              "A B on CUDA: algorithm " + algorithm + ": " + wrong + ". Allowed: auto or rows.");
}

/// The reason why no group of rows may use tiles, as far as it is known without the values; empty if tiles
/// are possible.
template <class V>
std::string whyNoTiles(Semiring semiring)
{
  if (semiring != Semiring::plusTimes)
    return "tiles add and multiply; this semiring does not";
  return std::is_same_v<V, std::int64_t> ? "tensor cores do not multiply 64-bit integers" : "";
}

double thresholdOf(const SpGemmOnCudaOptions& options, const std::string& whyNot)
{
  switch (options.algorithm) {
  case SpGemmAlgorithm::automatic:
    return whyNot.empty() && (!options.choice || options.choice->tilesMayWin) ? options.productsPerTilePair
                                                                              : neverTiles;
  case SpGemmAlgorithm::rows:
    return neverTiles;
  case SpGemmAlgorithm::tiles:
    if (!whyNot.empty())
      failAlgorithm("tiles", whyNot);
    return alwaysTiles;
  case SpGemmAlgorithm::tsparse:
    failAlgorithm("tsparse", "TSparseProduct makes it");
  }
  return neverTiles;
}

template <class V>
void makeTilesOfBoth(const Context& context, const CsrView<V>& a, const CsrView<V>& b, bool same,
                     const AnalysisTotals& totals, KnownProductOnCuda<V>& known)
{
  ProductAnalysisOnCuda& analysis = known.analysis;
  std::uint32_t* const notFinite = &analysis.totals->notFinite;
  known.tilesOfB.emplace(makeTilesOnCuda(context, b, (same ? analysis.tilesOfA : analysis.tilesOfB).data(),
                                         static_cast<std::uint32_t>((same ? totals.a : totals.b).tiles),
                                         notFinite, analysis.wantedOfB.span().data()));
  known.firstGroupOfA = firstGroupIn(a, b);
  if (!known.firstGroupOfA)
    known.tilesOfA.emplace(makeTilesOnCuda(context, a, analysis.tilesOfA.data(),
                                           static_cast<std::uint32_t>(totals.a.tiles), notFinite));
}

template <class V>
void checkSizes(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b)
{
  checkFactors(a.rows, a.columns, b.rows, b.columns);
  if (b.columns > largestColumnsOnCuda)
    throw Error(ExitCode::usage, "A B on CUDA: B has " + std::to_string(b.columns)
                                     + " columns. Allowed: up to " + std::to_string(largestColumnsOnCuda)
                                     + ".");
}

/// True if so many bytes are within the limit or, if there is none, within the device's free memory.
bool isThere(const Context& context, std::uint64_t bytes, const SpGemmOnCudaOptions& options)
{
  // Below this size the device is not asked for its free memory: the question takes a good part of a small
  // product's time.
  constexpr std::uint64_t little = 256 << 20;
  return options.maxMemoryBytes > 0 ? bytes <= options.maxMemoryBytes
                                    : bytes <= little || bytes <= context.stream->freeBytes();
}

std::string choiceText(const SpGemmReport& report, SpGemmAlgorithm algorithm, const std::string& whyNot)
{
  if (algorithm == SpGemmAlgorithm::rows)
    return "rows, as asked";
  if (algorithm == SpGemmAlgorithm::tiles)
    return "tiles, as asked";
  if (!whyNot.empty())
    return "rows: " + whyNot;
  return std::to_string(report.tileGroups) + " of " + std::to_string(report.groups)
         + " groups of 8 rows by tiles, the others by rows";
}

}

SpGemmOnCuda::SpGemmOnCuda(const Context& context)
    : context_(context), streams_(context), totalsOnHost_(context), totals_(context, 2)
{
}

template <class V>
CsrOnCuda<V> SpGemmOnCuda::multiply(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                    const SpGemmOnCudaOptions& options, SpGemmReport* report)
{
  return multiplyRows(a, b, 0, a.rows, options, report);
}

template <class V>
CsrOnCuda<V> SpGemmOnCuda::multiplyRows(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, std::size_t firstRow,
                                        std::size_t lastRow, const SpGemmOnCudaOptions& options,
                                        SpGemmReport* report)
{
  checkSizes(a, b);
  SpGemmReport found;
  CsrView<V> rows = a.view();
  rows.rowStart += firstRow;
  rows.rows = lastRow - firstRow;
  KnownProductOnCuda<V> known =
      patternOf(rows, b.view(), a.entries == 0 || b.entries == 0, options, true, found);
  computeNumbers(rows, b.view(), options.semiring, known);
  if (known.analysis.memory.size() * sizeof(std::uint64_t) <= maxKeptBytes)
    memory_ = std::move(known.analysis.memory);
  if (report)
    *report = found;
  return std::move(known.c);
}

template <class V>
KnownProductOnCuda<V> SpGemmOnCuda::patternOf(const CsrView<V>& a, const CsrView<V>& b, bool isEmpty,
                                              const SpGemmOnCudaOptions& options, bool isMadeOnce,
                                              SpGemmReport& report)
{
  report.groups = ceilDiv(a.rows, tileSide);
  if (a.rows > 0 && !isEmpty)
    return findPattern(a, b, a.column == b.column && a.rows == b.rows, options, isMadeOnce, report);
  KnownProductOnCuda<V> known(context_, {1, 1}, {1, 1}); // an allocation of 0 bytes fails
  context_.stream->fill(known.analysis.totals, 0, sizeof(AnalysisTotals));
  known.c = CsrOnCuda<V>::empty(context_, a.rows, b.columns);
  return known;
}

template <class V>
AnalysisTotals SpGemmOnCuda::analyse(const CsrView<V>& a, const CsrView<V>& b, bool same,
                                     const SpGemmOnCudaOptions& options, const std::string& whyNot,
                                     bool estimate, ProductAnalysisOnCuda& analysis, SpGemmReport& report)
{
  const double threshold = thresholdOf(options, whyNot);
  const double entriesPerTileOfB = options.choice ? options.choice->entriesPerTileOfB : 0;
  const auto firstGroup =
      entriesPerTileOfB > 0 && threshold != neverTiles && !same ? firstGroupIn(a, b) : std::nullopt;
  if (firstGroup)
    analyseRangeOnCuda(context_, a, b, *firstGroup, threshold, entriesPerTileOfB, estimate, analysis,
                       totalsOnHost_.next());
  else
    analyseOnCuda(context_, a, b, same, threshold, estimate, analysis, entriesPerTileOfB,
                  totalsOnHost_.next());
  const AnalysisTotals totals = totalsOnHost_.wait().totals;
  report.products = totals.products;
  report.entriesBound = totals.entriesBound;
  report.tileGroups = totals.tileGroups;
  report.choice = choiceText(report, options.algorithm, whyNot);
  return totals;
}

template <class V>
void SpGemmOnCuda::countOrMakeRows(const CsrView<V>& a, const CsrView<V>& b,
                                   const SpGemmOnCudaOptions& options, bool isMadeOnce,
                                   const AnalysisTotals& totals, KnownProductOnCuda<V>& known,
                                   std::uint64_t& bytes)
{
  const bool isNarrow =
      b.columns <= maxNarrowColumns; // counting a wide row then costs little: one bit for each column
  const double manyProductsAnEntry =
      isNarrow ? 2.5 : 4; // from here on counting takes less time than reading all products twice
  const bool alsoWide = productsAnEntry(totals) < manyProductsAnEntry;
  const std::uint32_t room = isMadeOnce ? roomForRows(totals, alsoWide) : 0;
  const std::uint64_t bytesOfRoom = room * (sizeof(std::uint32_t) + sizeof(V));
  const std::uint64_t maxBytesOfC =
      totals.entriesBound * (sizeof(std::uint32_t) + sizeof(V)) + (a.rows + 1) * sizeof(std::uint64_t);
  if (room == 0 || !isThere(context_, bytes + bytesOfRoom + maxBytesOfC, options))
    return countByRowsOnCuda(context_, streams_, a, b, totals.rows, known.analysis.binnedRows.data(),
                             known.analysis.rowCounts.data());
  bytes += bytesOfRoom;
  known.made.emplace(makeRowsOnCuda(context_, streams_, options.semiring, a, b, totals.rows, room, alsoWide,
                                    known.analysis));
}

template <class V>
KnownProductOnCuda<V> SpGemmOnCuda::findPattern(const CsrView<V>& a, const CsrView<V>& b, bool same,
                                                const SpGemmOnCudaOptions& options, bool isMadeOnce,
                                                SpGemmReport& report)
{
  const std::string whyNot = whyNoTiles<V>(options.semiring);
  KnownProductOnCuda<V> known(context_, a, b, std::exchange(memory_, {}));
  ProductAnalysisOnCuda& analysis = known.analysis;
  const AnalysisTotals totals = analyse(a, b, same, options, whyNot, isMadeOnce, analysis, report);
  if (options.algorithm == SpGemmAlgorithm::tiles && totals.tileGroups == 0)
    failAlgorithm("tiles", "more than 2^32 - 1 tiles, or more than " + std::to_string(maxTilesOfRowOnCuda)
                               + " in 8 rows of B");

  const auto isTooMuch = [&](std::uint64_t wanted) {
    return options.maxMemoryBytes > 0 && wanted > options.maxMemoryBytes;
  };
  const auto instead = [&](const std::string& whyNoTilesNow) {
    if (options.algorithm == SpGemmAlgorithm::tiles)
      failAlgorithm("tiles", whyNoTilesNow);
    SpGemmOnCudaOptions byRows = options;
    byRows.algorithm = SpGemmAlgorithm::rows;
    KnownProductOnCuda<V> found = findPattern(a, b, same, byRows, isMadeOnce, report);
    report.choice = "rows: " + whyNoTilesNow;
    return found;
  };
  std::uint64_t bytes = bytesARow * a.rows;
  const std::uint32_t* const tileGroups = analysis.tileGroups.data();
  if constexpr (!std::is_same_v<V, std::int64_t>)
    if (totals.tileGroups > 0) {
      bytes += tileBytes(a, b, same, totals);
      if (isTooMuch(bytes))
        return instead("the tiles do not fit into the memory limit");
      makeTilesOfBoth(context_, a, b, same, totals, known);
      std::uint32_t room = roomForTiles(totals);
      if (isTooMuch(bytes + KeptTilesOnCuda::bytes(a.rows, room)))
        room = 1;
      bytes += KeptTilesOnCuda::bytes(a.rows, room);
      known.tilesOfC.emplace(context_, a.rows, room);
      countByTilesOnCuda(context_, known.viewOfA(), known.viewOfB(), a.rows, tileGroups, totals.tileGroups,
                         analysis.rowCounts.data(), known.viewOfC());
    }
  countOrMakeRows(a, b, options, isMadeOnce, totals, known, bytes);

  CsrOnCuda<V>& c = known.c;
  c.rows = a.rows;
  c.columns = b.columns;
  c.rowStart = Buffer<std::uint64_t>(context_, c.rows + 1);
  std::uint64_t* const rowStart = c.rowStart.span().data();
  const bool mayHaveAll = known.made && known.made->mayHaveAll && totals.tileGroups == 0;
  const bool bins = rowsIn(totals.rows) > 0 && !mayHaveAll;
  scanAndReportOnCuda(context_, c.rows, analysis, rowStart, bins ? TotalsTarget() : totalsOnHost_.next());
  if (bins)
    binBySizeOnCuda(context_, c.rows, rowStart, analysis, totalsOnHost_.next());
  const std::uint64_t roomOfC = mayHaveAll ? moveAhead(totals, known) : 0;
  const ReportedTotals& reported = totalsOnHost_.wait();
  if (isMadeOnce && reported.totals.notFinite)
    return instead(notFiniteText);
  c.entries = reported.entries;
  const bool hasRoom =
      mayHaveAll && c.entries <= roomOfC && roomOfC <= c.entries + c.entries / maxSpareShare + fewEntries;
  const std::uint64_t spare = hasRoom ? (roomOfC - c.entries) * (sizeof(std::uint32_t) + sizeof(V)) : 0;
  if (totals.tileGroups > 0 && isTooMuch(bytes + c.bytes()))
    return instead("the tiles do not fit into the memory limit");
  report.bytesTaken = bytes + c.bytes() + spare;
  checkMemory(report.bytesTaken, options.maxMemoryBytes);
  known.isDone = hasRoom && !reported.totals.anyLeft;
  if (mayHaveAll && !known.isDone) {
    binBySizeOnCuda(context_, c.rows, rowStart, analysis, totalsOnHost_.next());
    totalsOnHost_.wait();
  }
  if (!hasRoom) { // otherwise the rows are in their places already
    c.column = {};
    c.value = {};
    c.column = Buffer<std::uint32_t>(context_, std::max<std::uint64_t>(c.entries, 1));
    known.madeEntries = reported.totals.madeEntries;
  }
  known.tileGroups = totals.tileGroups;
  known.rows = reported.totals.rowsBySize;
  return known;
}

template <class V>
std::uint64_t SpGemmOnCuda::moveAhead(const AnalysisTotals& totals, KnownProductOnCuda<V>& known)
{
  const std::uint64_t room = std::min<std::uint64_t>(known.made->column.size(), totals.entriesBound);
  known.c.column = Buffer<std::uint32_t>(context_, room);
  known.c.value = Buffer<V>(context_, room);
  moveMadeRowsOnCuda(context_, *known.made, known.analysis.madeAt.data(), room, known.c);
  return room;
}

bool SpGemmOnCuda::numbersWereFinite(const SpGemmOnCudaOptions& options, std::size_t place) const
{
  const bool finite = !totals_[place].notFinite;
  if (!finite && options.algorithm == SpGemmAlgorithm::tiles)
    failAlgorithm("tiles", notFiniteText);
  return finite;
}

template <class V>
void SpGemmOnCuda::computeNumbers(const CsrView<V>& a, const CsrView<V>& b, Semiring semiring,
                                  KnownProductOnCuda<V>& known)
{
  AnalysisTotals* const totals = known.analysis.totals;
  if (known.c.value.span().empty())
    known.c.value = Buffer<V>(context_, std::max<std::uint64_t>(known.c.entries, 1));
  if (std::is_same_v<V, std::int64_t> && !known.made)
    context_.stream->fill(&totals->overflowed, 0, sizeof totals->overflowed);
  if constexpr (!std::is_same_v<V, std::int64_t>)
    if (known.tileGroups > 0)
      multiplyByTilesOnCuda(context_, known.viewOfA(), known.viewOfB(), known.analysis.tileGroups.data(),
                            known.tileGroups, known.viewOfC(), known.c);
  if (!known.isDone)
    multiplyByRowsOnCuda(context_, streams_, semiring, a, b, known.rows, known.analysis.binnedRows.data(),
                         known.made ? &*known.made : nullptr, known.analysis.madeAt.data(), known.madeEntries,
                         known.c, &totals->overflowed);
  if constexpr (std::is_same_v<V, std::int64_t>)
    checkOverflowOnCuda(context_, &totals->overflowed);
}

template <class V>
SpGemmReport SpGemmOnCuda::describe(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                    const SpGemmOnCudaOptions& options)
{
  checkSizes(a, b);
  SpGemmReport report;
  report.groups = ceilDiv(a.rows, tileSide);
  if (a.entries == 0 || b.entries == 0)
    return report;
  const std::string whyNot = whyNoTiles<V>(options.semiring);
  ProductAnalysisOnCuda analysis(context_, a.view(), b.view());
  const bool same = a.column.span().data() == b.column.span().data();
  const AnalysisTotals totals = analyse(a.view(), b.view(), same, options, whyNot, false, analysis, report);
  const auto perTile = [](std::uint64_t entries, const TileTotals& counted) {
    const bool all = counted.tiles > 0;
    return static_cast<double>(all ? entries : counted.sampledEntries)
           / static_cast<double>(std::max(all ? counted.tiles : counted.sampledTiles, 1ull));
  };
  report.entriesPerTileA = perTile(a.entries, totals.a);
  report.entriesPerTileB = perTile(b.entries, same ? totals.a : totals.b);
  return report;
}

template <class V>
SpGemmOnCudaOptions SpGemmOnCuda::choiceFor(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                            const SpGemmOnCudaOptions& options)
{
  checkSizes(a, b);
  if (options.algorithm != SpGemmAlgorithm::automatic || options.choice || a.entries == 0 || b.entries == 0)
    return options;
  const auto choice = std::make_shared<ChoiceOnCuda>();
  if (whyNoTiles<V>(options.semiring).empty()) {
    const bool same = a.column.span().data() == b.column.span().data() && a.rows == b.rows;
    ProductAnalysisOnCuda analysis(context_, a.view(), b.view());
    choice->productsBefore = Buffer<std::uint64_t>(context_, a.rows + 1);
    sampleOnCuda(context_, a.view(), b.view(), same, options.productsPerTilePair, analysis,
                 choice->productsBefore.span().data());
    if constexpr (!std::is_same_v<V, std::int64_t>) {
      std::uint32_t* const notFinite = &analysis.totals->notFinite;
      findNotFiniteOnCuda(context_, a.value.span().data(), a.entries, notFinite);
      if (!same)
        findNotFiniteOnCuda(context_, b.value.span().data(), b.entries, notFinite);
    }
    askForTotals(analysis);
    context_.stream->wait();
    const AnalysisTotals& totals = totals_[0];
    choice->tilesMayWin = totals.tilesMayWin && !totals.notFinite;
    choice->entriesPerTileOfB = (same ? totals.a : totals.b).sampledEntriesPerTile();
  }
  SpGemmOnCudaOptions chosen = options;
  chosen.choice = choice;
  return chosen;
}

template <class V>
std::vector<std::size_t> SpGemmOnCuda::rangeStarts(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                                   std::size_t maxMemoryBytes, std::uint64_t bytesAProduct)
{
  checkSizes(a, b);
  const std::uint64_t most = maxMemoryBytes > 0 ? maxMemoryBytes : context_.stream->freeBytes();
  std::vector<std::uint32_t> products(a.rows);
  if (a.rows > 0 && b.entries > 0) {
    ProductAnalysisOnCuda analysis(context_, a.view(), b.view());
    analyseOnCuda(context_, a.view(), b.view(), false, neverTiles, false, analysis);
    context_.stream->copyToHost(products.data(), analysis.products.data(), a.rows * sizeof(std::uint32_t));
  }
  std::vector<std::size_t> starts{0};
  std::uint64_t bytes = 0;
  for (std::size_t first = 0; first < a.rows; first += tileSide) {
    std::uint64_t more = tileSide * (bytesARow + sizeof(std::uint64_t));
    for (std::size_t row = first; row < std::min(first + tileSide, a.rows); ++row)
      more += std::min<std::uint64_t>(products[row], b.columns) * (sizeof(std::uint32_t) + sizeof(V))
              + products[row] * bytesAProduct;
    checkMemory(more, most);
    if (bytes > 0 && bytes + more > most) {
      starts.push_back(first);
      bytes = 0;
    }
    bytes += more;
  }
  if (a.rows > 0)
    starts.push_back(a.rows);
  return starts;
}

#define TESSERA_FOR_VALUE(V)                                                                                 \
  template CsrOnCuda<V> SpGemmOnCuda::multiply(const CsrOnCuda<V>&, const CsrOnCuda<V>&,                     \
                                               const SpGemmOnCudaOptions&, SpGemmReport*);                   \
  template KnownProductOnCuda<V> SpGemmOnCuda::patternOf(const CsrView<V>&, const CsrView<V>&, bool,         \
                                                         const SpGemmOnCudaOptions&, bool, SpGemmReport&);   \
  template void SpGemmOnCuda::computeNumbers(const CsrView<V>&, const CsrView<V>&, Semiring,                 \
                                             KnownProductOnCuda<V>&);                                        \
  template CsrOnCuda<V> SpGemmOnCuda::multiplyRows(const CsrOnCuda<V>&, const CsrOnCuda<V>&, std::size_t,    \
                                                   std::size_t, const SpGemmOnCudaOptions&, SpGemmReport*);  \
  template SpGemmOnCudaOptions SpGemmOnCuda::choiceFor(const CsrOnCuda<V>&, const CsrOnCuda<V>&,             \
                                                       const SpGemmOnCudaOptions&);                          \
  template SpGemmReport SpGemmOnCuda::describe(const CsrOnCuda<V>&, const CsrOnCuda<V>&,                     \
                                               const SpGemmOnCudaOptions&);                                  \
  template std::vector<std::size_t> SpGemmOnCuda::rangeStarts(const CsrOnCuda<V>&, const CsrOnCuda<V>&,      \
                                                              std::size_t, std::uint64_t);
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
