#include "Core/Sparse/SpGemmOnCuda.h"

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/NumberChecksOnCuda.h"
#include "Core/Sparse/RangeAnalysisOnCuda.h"
#include "Core/Sparse/RowProductOnCuda.h"
#include "Core/Sparse/TilesOnCuda.h"

#include <algorithm>
#include <optional>
#include <string>

namespace tessera {
namespace {

constexpr const char* notFiniteText = "some numbers are not finite";

[[noreturn]] void failAlgorithm(const std::string& algorithm, const std::string& wrong)
{
  throw Error(ExitCode::usage, "A B on CUDA: algorithm " + algorithm + ": " + wrong + ". Allowed: auto or rows.");
}

/// Why no group of rows may go by tiles, before numbers are looked at; empty: nothing speaks against it.
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
    return whyNot.empty() && (!options.choice || options.choice->tilesMayWin) ? options.productsPerTilePair : neverTiles;
  case SpGemmAlgorithm::rows:
    return neverTiles;
  case SpGemmAlgorithm::tiles:
    if (!whyNot.empty())
      failAlgorithm("tiles", whyNot);
    return alwaysTiles;
  case SpGemmAlgorithm::cusparse:
    failAlgorithm("cusparse", "CusparseProduct makes it");
  case SpGemmAlgorithm::tsparse:
    failAlgorithm("tsparse", "TSparseProduct makes it");
  }
  return neverTiles;
}

/// Where A's rows of tiles begin among those of B, if A is rows of B.
template <class V>
std::optional<std::size_t> firstGroupIn(const CsrView<V>& a, const CsrView<V>& b)
{
  if (a.column != b.column || a.value != b.value || a.rowStart < b.rowStart || a.rowStart + a.rows > b.rowStart + b.rows)
    return {};
  const auto first = static_cast<std::size_t>(a.rowStart - b.rowStart);
  const bool wholeTiles = first % tileSide == 0 && (a.rows % tileSide == 0 || first + a.rows == b.rows);
  return wholeTiles ? std::optional(first / tileSide) : std::nullopt;
}

/// The analysis of B B, if A is rows of B and tiles of it may win.
template <class V>
const ProductAnalysisOnCuda* ofSquareFor(const CsrView<V>& a, const CsrView<V>& b, const SpGemmOnCudaOptions& options)
{
  const bool known = options.algorithm == SpGemmAlgorithm::automatic && options.choice && options.choice->ofSquare;
  return known && firstGroupIn(a, b) ? &*options.choice->ofSquare : nullptr;
}

/// `tilesOfB`: of each group of 8 rows of B.
template <class V>
void makeTilesOfBoth(const Context& context, const CsrView<V>& a, const CsrView<V>& b, const std::uint32_t* tilesOfB,
                     const TileTotals& totalsOfA, const TileTotals& totalsOfB, bool half, KnownProductOnCuda<V>& known)
{
  std::uint32_t* const notFinite = &known.analysis.totals.span().data()->notFinite;
  known.firstGroupOfA = firstGroupIn(a, b);
  Buffer<std::uint8_t> wanted; // all, unless A is a part of B
  if (known.firstGroupOfA && a.rows < b.rows)
    wanted = wantedGroupsOnCuda(context, a, *known.firstGroupOfA, ceilDiv(b.rows, tileSide));
  known.tilesOfB.emplace(
      makeTilesOnCuda(context, b, tilesOfB, static_cast<std::uint32_t>(totalsOfB.tiles), half, notFinite, wanted.span().data()));
  if (!known.firstGroupOfA)
    known.tilesOfA.emplace(makeTilesOnCuda(context, a, known.analysis.tilesOfA.span().data(),
                                           static_cast<std::uint32_t>(totalsOfA.tiles), half, notFinite));
}

/// Whether so many groups go by tiles that it is worth while to cut all of B into them.
bool tilesAreEnough(std::uint64_t tileGroups, std::uint64_t groups)
{
  return tileGroups > 0 && tileGroups >= groups / fewestTiledShare;
}

std::uint64_t rowsIn(const RowBinCounts& bins)
{
  std::uint64_t sum = 0;
  for (const std::uint32_t count : bins.of)
    sum += count;
  return sum;
}

/// Bytes of both operands' tiles.
template <class V>
std::uint64_t tileBytes(const CsrView<V>& a, const CsrView<V>& b, bool same, const AnalysisTotals& totals, bool half)
{
  const std::uint64_t ofB = TilesOnCuda<V>::bytes(b.rows, (same ? totals.a : totals.b).tiles, half);
  return firstGroupIn(a, b) ? ofB : ofB + TilesOnCuda<V>::bytes(a.rows, totals.a.tiles, half);
}

/// Bytes of an analysis for each row of A.
constexpr std::uint64_t bytesARow = (2 + rowBins) * sizeof(std::uint32_t);

void checkMemory(std::uint64_t wanted, std::size_t most)
{
  if (most > 0 && wanted > most)
    throw Error(ExitCode::outOfMemory, "A B on CUDA: C and what it takes to make it: " + std::to_string(wanted)
                                           + " bytes, more than the limit of " + std::to_string(most)
                                           + ". Allowed: a larger limit, or C in ranges of rows.");
}

template <class V>
void checkSizes(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b)
{
  checkFactors(a.rows, a.columns, b.rows, b.columns);
  if (b.columns > largestColumnsOnCuda)
    throw Error(ExitCode::usage, "A B on CUDA: B has " + std::to_string(b.columns) + " columns. Allowed: up to "
                                     + std::to_string(largestColumnsOnCuda) + ".");
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

SpGemmOnCuda::SpGemmOnCuda(const Context& context) : context_(context), streams_(context), totals_(context, 1), entries_(context, 1)
{
}

template <class V>
CsrOnCuda<V> SpGemmOnCuda::multiply(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& options,
                                    SpGemmReport* report)
{
  return multiplyRows(a, b, 0, a.rows, options, report);
}

template <class V>
CsrOnCuda<V> SpGemmOnCuda::multiplyRows(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, std::size_t firstRow, std::size_t lastRow,
                                        const SpGemmOnCudaOptions& options, SpGemmReport* report)
{
  checkSizes(a, b);
  SpGemmReport found;
  CsrView<V> rows = a.view();
  rows.rowStart += firstRow;
  rows.rows = lastRow - firstRow;
  KnownProductOnCuda<V> known = patternOf(rows, b.view(), a.entries == 0 || b.entries == 0, options, true, found);
  computeNumbers(rows, b.view(), options.semiring, known);
  if (report)
    *report = found;
  return std::move(known.c);
}

template <class V>
KnownProductOnCuda<V> SpGemmOnCuda::patternOf(const CsrView<V>& a, const CsrView<V>& b, bool isEmpty,
                                              const SpGemmOnCudaOptions& options, bool checkNumbers, SpGemmReport& report)
{
  report.groups = ceilDiv(a.rows, tileSide);
  if (a.rows > 0 && !isEmpty)
    return findPattern(a, b, a.column == b.column && a.rows == b.rows, options, checkNumbers, report);
  KnownProductOnCuda<V> known(context_, {1, 1}, {1, 1}); // no memory of a device has no bytes
  context_.stream->fill(known.analysis.totals.span().data(), 0, sizeof(AnalysisTotals));
  known.c = CsrOnCuda<V>::empty(context_, a.rows, b.columns);
  return known;
}

template <class V>
AnalysisTotals SpGemmOnCuda::analyse(const CsrView<V>& a, const CsrView<V>& b, bool same, const SpGemmOnCudaOptions& options,
                                     const std::string& whyNot, ProductAnalysisOnCuda& analysis, SpGemmReport& report)
{
  const double threshold = thresholdOf(options, whyNot);
  if (const ProductAnalysisOnCuda* const ofSquare = ofSquareFor(a, b, options))
    analyseRangeOnCuda(context_, a, b, *firstGroupIn(a, b), threshold, *ofSquare, analysis);
  else
    analyseOnCuda(context_, a, b, same, threshold, analysis, options.choice != nullptr);
  totals_.copyLater(analysis.totals.span().data());
  context_.stream->wait();
  const AnalysisTotals totals = totals_[0];
  report.products = totals.products;
  report.entriesBound = totals.entriesBound;
  report.tileGroups = totals.tileGroups;
  report.choice = choiceText(report, options.algorithm, whyNot);
  return totals;
}

template <class V>
KnownProductOnCuda<V> SpGemmOnCuda::findPattern(const CsrView<V>& a, const CsrView<V>& b, bool same,
                                                const SpGemmOnCudaOptions& options, bool checkNumbers, SpGemmReport& report)
{
  const std::string whyNot = whyNoTiles<V>(options.semiring);
  KnownProductOnCuda<V> known(context_, a, b);
  ProductAnalysisOnCuda& analysis = known.analysis;
  const AnalysisTotals totals = analyse(a, b, same, options, whyNot, analysis, report);
  if (options.algorithm == SpGemmAlgorithm::tiles && totals.tileGroups == 0)
    failAlgorithm("tiles", "more than 2^32 - 1 tiles, or more than " + std::to_string(mostTilesOfRowOnCuda) + " in 8 rows of B");

  const auto isTooMuch = [&](std::uint64_t wanted) { return options.maxMemoryBytes > 0 && wanted > options.maxMemoryBytes; };
  const auto instead = [&](const std::string& whyNoTilesNow) {
    if (options.algorithm == SpGemmAlgorithm::tiles)
      failAlgorithm("tiles", whyNoTilesNow);
    SpGemmOnCudaOptions byRows = options;
    byRows.algorithm = SpGemmAlgorithm::rows;
    KnownProductOnCuda<V> found = findPattern(a, b, same, byRows, checkNumbers, report);
    report.choice = "rows: " + whyNoTilesNow;
    return found;
  };
  if (options.algorithm == SpGemmAlgorithm::automatic && !options.choice && totals.tileGroups > 0
      && !tilesAreEnough(totals.tileGroups, report.groups))
    return instead("tiles would be for " + std::to_string(totals.tileGroups) + " of " + std::to_string(report.groups)
                   + " groups of 8 rows, and all of B has to be cut into them");
  std::uint64_t bytes = bytesARow * a.rows;
  std::uint32_t* const rowCounts = analysis.rowCounts.span().data();
  const std::uint32_t* const tileGroups = analysis.tileGroups.span().data();
  if constexpr (!std::is_same_v<V, std::int64_t>)
    if (totals.tileGroups > 0) {
      bytes += tileBytes(a, b, same && !ofSquareFor(a, b, options), totals, options.half);
      if (isTooMuch(bytes))
        return instead("the tiles do not fit into the memory limit");
      const ProductAnalysisOnCuda* const ofSquare = ofSquareFor(a, b, options);
      const Buffer<std::uint32_t>& tilesOfB = ofSquare ? ofSquare->tilesOfA : same ? analysis.tilesOfA : analysis.tilesOfB;
      makeTilesOfBoth(context_, a, b, tilesOfB.span().data(), totals.a, same && !ofSquare ? totals.a : totals.b, options.half,
                      known);
      countByTilesOnCuda(context_, known.viewOfA(), known.viewOfB(), a.rows, tileGroups, totals.tileGroups, rowCounts);
    }
  countByRowsOnCuda(context_, streams_, a, b, totals.rows, analysis.binnedRows.span().data(), rowCounts);

  CsrOnCuda<V>& c = known.c;
  c.rows = a.rows;
  c.columns = b.columns;
  c.rowStart = Buffer<std::uint64_t>(context_, c.rows + 1);
  scanOnCuda(context_, c.rows, rowCounts, c.rowStart.span().data());
  entries_.copyLater(c.rowStart.span().data() + c.rows);
  if (rowsIn(totals.rows) > 0)
    binBySizeOnCuda(context_, c.rows, analysis);
  totals_.copyLater(analysis.totals.span().data());
  context_.stream->wait();
  if (checkNumbers && totals_[0].notFinite)
    return instead(notFiniteText);
  c.entries = entries_[0];
  if (totals.tileGroups > 0 && isTooMuch(bytes + c.bytes()))
    return instead("the tiles do not fit into the memory limit");
  report.bytesTaken = bytes + c.bytes();
  checkMemory(report.bytesTaken, options.maxMemoryBytes);
  c.column = Buffer<std::uint32_t>(context_, std::max<std::uint64_t>(c.entries, 1));
  known.tileGroups = totals.tileGroups;
  known.rows = totals_[0].rowsBySize;
  return known;
}

template <class V>
bool SpGemmOnCuda::numbersWereFinite(const KnownProductOnCuda<V>& known, const SpGemmOnCudaOptions& options)
{
  totals_.copyLater(known.analysis.totals.span().data());
  context_.stream->wait();
  const bool finite = !totals_[0].notFinite;
  if (!finite && options.algorithm == SpGemmAlgorithm::tiles)
    failAlgorithm("tiles", notFiniteText);
  return finite;
}

template <class V>
void SpGemmOnCuda::computeNumbers(const CsrView<V>& a, const CsrView<V>& b, Semiring semiring, KnownProductOnCuda<V>& known)
{
  AnalysisTotals* const totals = known.analysis.totals.span().data();
  known.c.value = Buffer<V>(context_, std::max<std::uint64_t>(known.c.entries, 1));
  if (std::is_same_v<V, std::int64_t>)
    context_.stream->fill(&totals->overflowed, 0, sizeof totals->overflowed);
  if constexpr (!std::is_same_v<V, std::int64_t>)
    if (known.tileGroups > 0)
      multiplyByTilesOnCuda(context_, known.viewOfA(), known.viewOfB(), known.analysis.tileGroups.span().data(), known.tileGroups,
                            known.c);
  multiplyByRowsOnCuda(context_, streams_, semiring, a, b, known.rows, known.analysis.binnedRows.span().data(), known.c,
                       &totals->overflowed);
  if constexpr (std::is_same_v<V, std::int64_t>) {
    totals_.copyLater(totals);
    context_.stream->wait();
    if (totals_[0].overflowed)
      throw Error(ExitCode::usage,
                  "precision int64: A B on CUDA: a product or sum is beyond 64 bits. Allowed: smaller integers, or precision f64.");
  }
}

template <class V>
SpGemmReport SpGemmOnCuda::describe(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& options)
{
  checkSizes(a, b);
  SpGemmReport report;
  report.groups = ceilDiv(a.rows, tileSide);
  if (a.entries == 0 || b.entries == 0)
    return report;
  const std::string whyNot = whyNoTiles<V>(options.semiring);
  ProductAnalysisOnCuda analysis(context_, a.view(), b.view());
  const bool same = a.column.span().data() == b.column.span().data();
  const AnalysisTotals totals = analyse(a.view(), b.view(), same, options, whyNot, analysis, report);
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
SpGemmOnCudaOptions SpGemmOnCuda::choiceFor(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& options)
{
  checkSizes(a, b);
  if (options.algorithm != SpGemmAlgorithm::automatic || options.choice || a.entries == 0 || b.entries == 0)
    return options;
  const auto choice = std::make_shared<ChoiceOnCuda>();
  if (whyNoTiles<V>(options.semiring).empty()) {
    const bool same = a.column.span().data() == b.column.span().data() && a.rows == b.rows;
    ProductAnalysisOnCuda analysis(context_, a.view(), b.view());
    choice->productsBefore = Buffer<std::uint64_t>(context_, a.rows + 1);
    analyseWithSumsOnCuda(context_, a.view(), b.view(), same, options.productsPerTilePair, analysis,
                          choice->productsBefore.span().data());
    if constexpr (!std::is_same_v<V, std::int64_t>) {
      std::uint32_t* const notFinite = &analysis.totals.span().data()->notFinite;
      findNotFiniteOnCuda(context_, a.value.span().data(), a.entries, notFinite);
      if (!same)
        findNotFiniteOnCuda(context_, b.value.span().data(), b.entries, notFinite);
    }
    totals_.copyLater(analysis.totals.span().data());
    context_.stream->wait();
    choice->tilesMayWin = tilesAreEnough(totals_[0].tileGroups, ceilDiv(a.rows, tileSide)) && !totals_[0].notFinite;
    if (choice->tilesMayWin && same)
      choice->ofSquare = std::move(analysis);
  }
  SpGemmOnCudaOptions chosen = options;
  chosen.choice = choice;
  return chosen;
}

template <class V>
std::vector<std::size_t> SpGemmOnCuda::rangeStarts(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, std::size_t maxMemoryBytes,
                                                   std::uint64_t bytesAProduct)
{
  checkSizes(a, b);
  const std::uint64_t most = maxMemoryBytes > 0 ? maxMemoryBytes : context_.stream->freeBytes();
  std::vector<std::uint32_t> products(a.rows);
  if (a.rows > 0 && b.entries > 0) {
    ProductAnalysisOnCuda analysis(context_, a.view(), b.view());
    analyseOnCuda(context_, a.view(), b.view(), false, neverTiles, analysis);
    products = analysis.products.toHost(context_);
  }
  std::vector<std::size_t> starts{0};
  std::uint64_t bytes = 0;
  for (std::size_t first = 0; first < a.rows; first += tileSide) {
    std::uint64_t more = tileSide * (bytesARow + sizeof(std::uint64_t));
    for (std::size_t row = first; row < std::min(first + tileSide, a.rows); ++row)
      more +=
          std::min<std::uint64_t>(products[row], b.columns) * (sizeof(std::uint32_t) + sizeof(V)) + products[row] * bytesAProduct;
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

#define TESSERA_FOR_VALUE(V)                                                                                                       \
  template CsrOnCuda<V> SpGemmOnCuda::multiply(const CsrOnCuda<V>&, const CsrOnCuda<V>&, const SpGemmOnCudaOptions&,               \
                                               SpGemmReport*);                                                                     \
  template KnownProductOnCuda<V> SpGemmOnCuda::patternOf(const CsrView<V>&, const CsrView<V>&, bool, const SpGemmOnCudaOptions&,   \
                                                         bool, SpGemmReport&);                                                     \
  template bool SpGemmOnCuda::numbersWereFinite(const KnownProductOnCuda<V>&, const SpGemmOnCudaOptions&);                         \
  template void SpGemmOnCuda::computeNumbers(const CsrView<V>&, const CsrView<V>&, Semiring, KnownProductOnCuda<V>&);              \
  template CsrOnCuda<V> SpGemmOnCuda::multiplyRows(const CsrOnCuda<V>&, const CsrOnCuda<V>&, std::size_t, std::size_t,             \
                                                   const SpGemmOnCudaOptions&, SpGemmReport*);                                     \
  template SpGemmOnCudaOptions SpGemmOnCuda::choiceFor(const CsrOnCuda<V>&, const CsrOnCuda<V>&, const SpGemmOnCudaOptions&);      \
  template SpGemmReport SpGemmOnCuda::describe(const CsrOnCuda<V>&, const CsrOnCuda<V>&, const SpGemmOnCudaOptions&);              \
  template std::vector<std::size_t> SpGemmOnCuda::rangeStarts(const CsrOnCuda<V>&, const CsrOnCuda<V>&, std::size_t, std::uint64_t);
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
