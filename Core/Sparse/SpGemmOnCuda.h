#pragma once

#include "Core/Compute/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Analysis/TotalsOnHost.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Rows/RowProductOnCuda.h"
#include "Core/Sparse/Rows/SideStreams.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/Tiles/TilesOnCuda.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// What all rows of A decide, for products of ranges of them on the same device.
struct ChoiceOnCuda {
  bool tilesMayWin = false;             // groups are looked at one by one then,
  double entriesPerTileOfB = 0;         // with this
  Buffer<std::uint64_t> productsBefore; // each row of A and all; empty if they were not counted
};

/// How a product of matrices on a CUDA device is made.
struct SpGemmOnCudaOptions {
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic; // or tiles or rows
  double productsPerTilePair = productsPerTilePairOnCuda; // automatic: tiles from so many on
  std::size_t maxMemoryBytes = 0; // for C and what it takes to make it; 0: what the device has
  bool half = false;              // numbers, of type float, are of half precision: tiles hold them so
  std::shared_ptr<const ChoiceOnCuda> choice = nullptr; // by choiceFor
};

/// C = A B whose pattern is known, and what its numbers are computed from.
template <class V>
struct KnownProductOnCuda {
  KnownProductOnCuda(const Context& context, const PatternView& a, const PatternView& b,
                     Buffer<std::uint64_t> memory = {})
      : analysis(context, a, b, std::move(memory))
  {
  }

  ProductAnalysisOnCuda analysis;
  std::uint32_t tileGroups = 0;                     // of 8 rows, that go by tiles
  RowBinCounts rows{};                              // the others, by entries, but for those that are made
  std::optional<RowScratchOnCuda<V>> made;          // rows that have their numbers already
  std::optional<TilesOnCuda<V>> tilesOfA, tilesOfB; // if there are such groups
  std::optional<KeptTilesOnCuda> tilesOfC;          // if there are such groups
  std::optional<std::size_t> firstGroupOfA;         // A's tiles are those of B from this row of tiles on
  CsrOnCuda<V> c;
  std::uint64_t madeEntries = 0; // of `made`, that are not at their places yet
  bool isDone = false;           // c has its numbers

  TileView<V> viewOfA() const
  {
    TileView<V> view = firstGroupOfA ? tilesOfB->view() : tilesOfA->view();
    view.rowStart += firstGroupOfA.value_or(0);
    return view;
  }
  TileView<V> viewOfB() const { return tilesOfB->view(); }
  KeptTileView viewOfC() { return tilesOfC->view(&analysis.totals->keptTiles); }
};

template <class V>
class SpGemmPlanOnCuda;

/// C = A B on a CUDA device. Rows of C whose groups of 8 are dense enough in tiles of 8 x 8 are summed up by
/// tensor cores, in double precision whatever V is, but in single if the numbers are of half precision; the
/// others row by row. The host waits twice, for the size of the work and for that of C (once more for int64).
/// C's arrays may have room for up to a quarter more entries than C has. The same A and B give the same bits
/// on the same device. Tiles serve plus-times over float and double with finite numbers, up to 65535 tiles in
/// 8 rows of B. V is float, double or int64.
class SpGemmOnCuda {
public:
  /// Throws Error(device) unless the context is on a CUDA device.
  explicit SpGemmOnCuda(const Context&);

  /// Throws Error(usage) for sizes that do not fit, more than largestColumnsOnCuda columns, an algorithm that
  /// cannot do the work or a sum of int64 beyond 64 bits, and Error(outOfMemory) with the bytes needed.
  template <class V>
  CsrOnCuda<V> multiply(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& = {},
                        SpGemmReport* = nullptr);

  /// Rows firstRow .. lastRow - 1 of C.
  template <class V>
  CsrOnCuda<V> multiplyRows(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, std::size_t firstRow,
                            std::size_t lastRow, const SpGemmOnCudaOptions& = {}, SpGemmReport* = nullptr);

  /// What would be done, without doing it.
  template <class V>
  SpGemmReport describe(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& = {});

  /// The options with which ranges of rows of C have the bits that all of C has by `options`: what looks at
  /// all rows is done here.
  template <class V>
  SpGemmOnCudaOptions choiceFor(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                const SpGemmOnCudaOptions& options);

  /// First rows, multiples of 8, of ranges that multiplyRows can do within the memory limit whatever C is,
  /// and the number of rows; `bytesAProduct` are what another method takes beside. Throws Error(outOfMemory)
  /// if 8 rows are too much.
  template <class V>
  std::vector<std::size_t> rangeStarts(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                       std::size_t maxMemoryBytes, std::uint64_t bytesAProduct = 0);

private:
  template <class V>
  friend class SpGemmPlanOnCuda;

  template <class V>
  AnalysisTotals analyse(const CsrView<V>& a, const CsrView<V>& b, bool same, const SpGemmOnCudaOptions&,
                         const std::string& whyNoTiles, bool estimate, ProductAnalysisOnCuda&, SpGemmReport&);
  /// All of C but its numbers; `isEmpty`: A or B has no entries. If `isMadeOnce`, tiles are chosen only for
  /// finite numbers, and rows may be made already.
  template <class V>
  KnownProductOnCuda<V> patternOf(const CsrView<V>& a, const CsrView<V>& b, bool isEmpty,
                                  const SpGemmOnCudaOptions&, bool isMadeOnce, SpGemmReport&);
  template <class V>
  KnownProductOnCuda<V> findPattern(const CsrView<V>& a, const CsrView<V>& b, bool same,
                                    const SpGemmOnCudaOptions&, bool isMadeOnce, SpGemmReport&);
  /// Counts entries of rows that do not go by tiles, or makes them if there is room beside `bytes` that are
  /// taken, to which it adds.
  template <class V>
  void countOrMakeRows(const CsrView<V>& a, const CsrView<V>& b, const SpGemmOnCudaOptions&, bool isMadeOnce,
                       const AnalysisTotals&, KnownProductOnCuda<V>&, std::uint64_t& bytes);
  /// The numbers; rows that were made are moved to their places.
  template <class V>
  void computeNumbers(const CsrView<V>& a, const CsrView<V>& b, Semiring, KnownProductOnCuda<V>&);
  /// Of tiles that were filled; waits. Throws Error(usage) if tiles were asked for and they were not.
  template <class V>
  bool numbersWereFinite(const KnownProductOnCuda<V>&, const SpGemmOnCudaOptions&);

  /// Brings rows to their places before it is known whether all could be made, if none is known not to be;
  /// returns for how many entries C has room then.
  template <class V>
  std::uint64_t moveAhead(const AnalysisTotals&, KnownProductOnCuda<V>&);

  Context context_;
  SideStreams streams_;
  TotalsOnHost toldTotals_;
  PinnedValues<AnalysisTotals> totals_;
  Buffer<std::uint64_t> memory_; // of the analysis before, if it is small
};

}
