#include "Core/Sparse/TSparse/TSparseProduct.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Numbers/HalfPrecisionOnCuda.h"
#include "Core/Sparse/TSparse/TSparseKernels.h"

#include <algorithm>
#include <string>

namespace tessera {
namespace {

[[noreturn]] void fail(ExitCode code, const std::string& wrong, const std::string& allowed)
{
  throw Error(code, "A B by tSparse: " + wrong + ". Allowed: " + allowed + ".");
}

void checkEntries(std::uint64_t entries, const char* name)
{
  if (entries > 0xffffffffu)
    fail(ExitCode::usage,
         std::string(name) + " has " + std::to_string(entries) + " entries: its tiles count them by 32 bits",
         "fewer than 2^32, or another algorithm");
}

/// Adds up the memory that is taken and holds it to a limit.
class MemoryCount {
public:
  explicit MemoryCount(std::uint64_t max) : max_(max) {}

  void add(std::uint64_t bytes)
  {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    if (peak_ > max_)
      fail(ExitCode::outOfMemory,
           std::to_string(peak_) + " bytes for C and what it takes to make it: more than "
               + std::to_string(max_),
           "a larger limit, or C in ranges of rows");
  }
  void giveBack(std::uint64_t bytes) { now_ -= bytes; }
  std::uint64_t left() const { return max_ - now_; }
  std::uint64_t peak() const { return peak_; }

private:
  std::uint64_t max_, now_ = 0, peak_ = 0;
};

}

/// The tiles of both operands, and the exponents by which their values were divided.
struct TSparseProduct::Tiles {
  BitmapTilesOnCuda a, b;
  Buffer<std::int32_t> rowExponent, columnExponent;

  std::uint64_t bytes() const
  {
    return a.bytes() + b.bytes() + sizeof(std::int32_t) * (rowExponent.size() + columnExponent.size());
  }
};

TSparseProduct::TSparseProduct(const Context& context)
    : context_(context), tasks_(context), totals_(context, 1), entries_(context, 1), stored_(context, 1)
{
}

CsrOnCuda<float> TSparseProduct::multiply(const CsrOnCuda<float>& a, const CsrOnCuda<float>& b,
                                          const TSparseOptions& options, SpGemmReport* report)
{
  return multiplyRows(a, b, 0, a.rows, options, report);
}

CsrOnCuda<float> TSparseProduct::multiplyRows(const CsrOnCuda<float>& a, const CsrOnCuda<float>& b,
                                              std::size_t firstRow, std::size_t lastRow,
                                              const TSparseOptions& options, SpGemmReport* report)
{
  checkFactors(a.rows, a.columns, b.rows, b.columns);
  checkEntries(a.entries, "A");
  checkEntries(b.entries, "B");
  SpGemmReport found;
  found.groups = found.tileGroups = ceilDiv(lastRow - firstRow, tileSide);
  CsrView<float> rows = a.view();
  rows.rowStart += firstRow;
  rows.rows = lastRow - firstRow;
  const bool same = a.column.span().data() == b.column.span().data() && rows.rows == b.rows;
  const bool none = rows.rows == 0 || a.entries == 0 || b.entries == 0;
  CsrOnCuda<float> c = none ? CsrOnCuda<float>::empty(context_, rows.rows, b.columns)
                            : multiplyViews(rows, b.view(), a.entries, b.entries, same, options, found);
  if (report)
    *report = found;
  return c;
}

TSparseProduct::Tiles TSparseProduct::makeTiles(const CsrView<float>& a, const CsrView<float>& b,
                                                std::uint64_t entriesOfA, std::uint64_t entriesOfB, bool same,
                                                SpGemmReport& report)
{
  ProductAnalysisOnCuda analysis(context_, a, b);
  analyseOnCuda(context_, a, b, same, alwaysTiles, false, analysis);
  Tiles tiles;
  tiles.rowExponent = halfExponentsOfRowsOnCuda(context_, a);
  tiles.columnExponent = halfExponentsOfColumnsOnCuda(context_, b);
  totals_.copyLater(analysis.totals);
  context_.stream->wait();
  const AnalysisTotals totals = totals_[0];
  const TileTotals& ofB = same ? totals.a : totals.b;
  if (std::max(totals.a.tiles, ofB.tiles) > 0xffffffffu)
    fail(ExitCode::usage, "more than 2^32 - 1 tiles", "fewer, or the algorithm rows");
  report.products = totals.products;
  report.entriesBound = totals.entriesBound;
  std::uint32_t* const notFinite = &analysis.totals->notFinite;
  tiles.a =
      makeBitmapTilesOnCuda(context_, a, entriesOfA, {tiles.rowExponent.span().data(), false},
                            analysis.tilesOfA.data(), static_cast<std::uint32_t>(totals.a.tiles), notFinite);
  tiles.b = makeBitmapTilesOnCuda(context_, b, entriesOfB, {tiles.columnExponent.span().data(), true},
                                  (same ? analysis.tilesOfA : analysis.tilesOfB).data(),
                                  static_cast<std::uint32_t>(ofB.tiles), notFinite);
  totals_.copyLater(analysis.totals); // whether values are finite; read after the next wait
  return tiles;
}

CsrOnCuda<float> TSparseProduct::multiplyViews(const CsrView<float>& a, const CsrView<float>& b,
                                               std::uint64_t entriesOfA, std::uint64_t entriesOfB, bool same,
                                               const TSparseOptions& options, SpGemmReport& report)
{
  MemoryCount memory(options.maxMemoryBytes > 0 ? options.maxMemoryBytes : context_.stream->freeBytes());
  const Tiles tiles = makeTiles(a, b, entriesOfA, entriesOfB, same, report);
  memory.add(tiles.bytes());
  const auto tell = [&](const char* part) {
    if (options.listener)
      options.listener(part);
  };
  tell("tiles");
  const TaskListOnCuda list = tasks_.make(
      tiles.a, tiles.b, b.columns, std::min(maxTasksOnCuda, memory.left() / bytesATask), options.listener);
  if (totals_[0].notFinite)
    fail(ExitCode::usage, "some numbers are not finite, and what is no entry takes part as a zero",
         "the algorithm auto or rows");
  memory.add(list.tasks * bytesATask);
  memory.giveBack(list.tasks * (bytesATask - sizeof(TileTask)));
  report.choice = "tSparse with" + std::string(options.tensorCores ? "" : "out")
                  + " tensor cores: " + std::to_string(list.tasks) + " pairs of tiles for "
                  + std::to_string(list.tiles) + " tiles of C";
  if (list.tasks == 0)
    return CsrOnCuda<float>::empty(context_, a.rows, b.columns);

  const bool some = options.withoutZeros;
  Buffer<TilePattern> patterns(context_, list.tiles), notZero(context_, some ? list.tiles : 1);
  Buffer<std::uint32_t> counts(context_, list.tiles + 1), rowCounts(context_, a.rows + 1);
  Buffer<std::uint64_t> first(context_, list.tiles + 1);
  memory.add(list.tiles * (3 * sizeof(std::uint64_t) + sizeof(std::uint32_t))
             + (a.rows + 1) * sizeof(std::uint32_t));
  countTSparse(context_, tiles.a.view(), tiles.b.view(), list, options.tensorCores, patterns.span().data(),
               counts.span().data());
  scanOnCuda(context_, list.tiles, counts.span().data(), first.span().data());
  stored_.copyLater(first.span().data() + list.tiles);
  context_.stream->wait();
  tell("counting");

  Buffer<float> number(context_, stored_[0]);
  memory.add(stored_[0] * sizeof(float));
  multiplyTSparse(context_, tiles.a.view(), tiles.b.view(), list, options.tensorCores, patterns.span().data(),
                  first.span().data(), number.span().data(), some ? notZero.span().data() : nullptr);
  tell("multiplying");
  const TilesOfC ofC{list.rowStart.span().data(), list.column.span().data(),
                     patterns.span().data(),      some ? notZero.span().data() : patterns.span().data(),
                     first.span().data(),         number.span().data()};
  CsrOnCuda<float> c;
  c.rows = a.rows;
  c.columns = b.columns;
  c.rowStart = Buffer<std::uint64_t>(context_, c.rows + 1);
  countRowsOfTiles(context_, ofC, c.rows, rowCounts.span().data());
  scanOnCuda(context_, c.rows, rowCounts.span().data(), c.rowStart.span().data());
  c.entries = stored_[0];
  if (some) { // the entries are known only after the multiplication
    entries_.copyLater(c.rowStart.span().data() + c.rows);
    context_.stream->wait();
    c.entries = entries_[0];
  }
  memory.add(c.bytes());
  report.bytesTaken = memory.peak();
  c.column = Buffer<std::uint32_t>(context_, std::max<std::uint64_t>(c.entries, 1));
  c.value = Buffer<float>(context_, std::max<std::uint64_t>(c.entries, 1));
  fillRowsOfTiles(context_, ofC, tiles.rowExponent.span().data(), tiles.columnExponent.span().data(), c);
  tell("compacting");
  return c;
}

}
