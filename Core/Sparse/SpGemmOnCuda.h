#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/PinnedValues.h"
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

/// The decisions that depend on all rows of A. Ranges of rows follow them, so that they get the bits of the
/// whole product.
struct ChoiceOnCuda {
  // True if tiles may be faster for some group of 8 rows. Each group is then decided by its own tiles and
  // this average.
  bool tilesMayWin = false;
  double entriesPerTileOfB = 0;
  // For each row the products of all rows before it, and the total at the end; empty if not counted.
  Buffer<std::uint64_t> productsBefore;
};

/// The options of a product of matrices on a CUDA device.
struct SpGemmOnCudaOptions {
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic; // automatic, tiles or rows
  double productsPerTilePair = productsPerTilePairOnCuda; // automatic uses tiles from this many on
  std::size_t maxMemoryBytes = 0;                         // for C and the work on it; 0: what the device has
  std::shared_ptr<const ChoiceOnCuda> choice = nullptr;   // made by choiceFor
};

/// C = A B with a known pattern, and everything that computing its values needs.
template <class V>
struct KnownProductOnCuda {
  KnownProductOnCuda(const Context& context, const PatternView& a, const PatternView& b,
                     Buffer<std::uint64_t> memory = {})
      : analysis(context, a, b, std::move(memory))
  {
  }

  ProductAnalysisOnCuda analysis;
  std::uint32_t tileGroups = 0; // groups of 8 rows that use tiles
  RowBinCounts rows{};          // the other rows by their numbers of entries, without those in `made`
  std::optional<RowScratchOnCuda<V>> made;          // rows in scratch memory that have their values already
  std::optional<TilesOnCuda<V>> tilesOfA, tilesOfB; // present if tileGroups > 0
  std::optional<KeptTilesOnCuda> tilesOfC;          // present if tileGroups > 0
  // If A is rows of B: A's tiles are those of B from this row of tiles on, and tilesOfA is empty.
  std::optional<std::size_t> firstGroupOfA;
  CsrOnCuda<V> c;
  std::uint64_t madeEntries = 0; // entries in `made` that are not in c yet
  bool isDone = false;           // c has its values

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

/// C = A B on a CUDA device. Groups of 8 rows whose 8 x 8 tiles are dense enough are multiplied by tensor
/// cores, in double precision whatever V is. The
/// other rows are multiplied one by one. Tiles need plus-times over float or double, finite values and at
/// most 65535 tiles in 8 rows of B.
/// The host waits twice, once for the size of the work and once for that of C (a third time for int64). C's
/// arrays may have room for up to a quarter more entries than C has. The same A and B give the same bits on
/// the same device. V is double, float or int64.
class SpGemmOnCuda {
public:
  /// The context must be on a CUDA device.
  TESSERA_CUDA_ONLY explicit SpGemmOnCuda(const Context&);

  /// C with rising columns in each row. Throws Error(usage) for sizes that do not fit, more than
  /// largestColumnsOnCuda columns, an algorithm that cannot do the work, or a sum of int64 beyond 64 bits.
  /// Throws Error(outOfMemory) with the bytes needed.
  template <class V>
  TESSERA_CUDA_ONLY CsrOnCuda<V> multiply(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                          const SpGemmOnCudaOptions& = {}, SpGemmReport* = nullptr);

  /// Rows firstRow .. lastRow - 1 of C.
  template <class V>
  TESSERA_CUDA_ONLY CsrOnCuda<V> multiplyRows(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                              std::size_t firstRow, std::size_t lastRow,
                                              const SpGemmOnCudaOptions& = {}, SpGemmReport* = nullptr);

  /// Describes how the product would be computed, without computing it.
  template <class V>
  TESSERA_CUDA_ONLY SpGemmReport describe(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                          const SpGemmOnCudaOptions& = {});

  /// Analyses all rows and returns `options` with the decisions that depend on them. With the result,
  /// multiplyRows gives ranges of rows the bits that the whole product has by `options`.
  template <class V>
  TESSERA_CUDA_ONLY SpGemmOnCudaOptions choiceFor(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                                  const SpGemmOnCudaOptions& options);

  /// Cuts the rows into ranges that multiplyRows can compute within the memory limit in every case. Returns
  /// the first row of each range, a multiple of 8, and at the end the number of rows. `bytesAProduct`: what
  /// another method needs in addition for each product. Throws Error(outOfMemory) if 8 rows need too much.
  template <class V>
  TESSERA_CUDA_ONLY std::vector<std::size_t> rangeStarts(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                                         std::size_t maxMemoryBytes,
                                                         std::uint64_t bytesAProduct = 0);

private:
  template <class V>
  friend class SpGemmPlanOnCuda;

  template <class V>
  AnalysisTotals analyse(const CsrView<V>& a, const CsrView<V>& b, bool same, const SpGemmOnCudaOptions&,
                         const std::string& whyNoTiles, bool estimate, ProductAnalysisOnCuda&, SpGemmReport&);
  /// Finds everything of C but its values. `isEmpty`: A or B has no entries. With `isMadeOnce` the values
  /// count, too: tiles are chosen only if all are finite, and rows may be computed at once.
  template <class V>
  KnownProductOnCuda<V> patternOf(const CsrView<V>& a, const CsrView<V>& b, bool isEmpty,
                                  const SpGemmOnCudaOptions&, bool isMadeOnce, SpGemmReport&);
  template <class V>
  KnownProductOnCuda<V> findPattern(const CsrView<V>& a, const CsrView<V>& b, bool same,
                                    const SpGemmOnCudaOptions&, bool isMadeOnce, SpGemmReport&);
  /// Treats the rows that do not use tiles: computes them to scratch memory if there is room for it, or else
  /// counts their entries. Adds the bytes taken to `bytes`.
  template <class V>
  void countOrMakeRows(const CsrView<V>& a, const CsrView<V>& b, const SpGemmOnCudaOptions&, bool isMadeOnce,
                       const AnalysisTotals&, KnownProductOnCuda<V>&, std::uint64_t& bytes);
  /// Computes the values. Rows in scratch memory are moved to their places.
  template <class V>
  void computeNumbers(const CsrView<V>& a, const CsrView<V>& b, Semiring, KnownProductOnCuda<V>&);
  /// Copies the totals later to place 0 or 1; after a wait for the stream, numbersWereFinite is true if all
  /// values of tiles were finite. It throws Error(usage) if not and tiles were asked for.
  void askForTotals(const ProductAnalysisOnCuda& analysis, std::size_t place = 0)
  {
    context_.stream->copyLater(&totals_[place], analysis.totals, sizeof(AnalysisTotals));
  }
  bool numbersWereFinite(const SpGemmOnCudaOptions&, std::size_t place) const;

  /// Moves the rows in scratch memory to C although the host does not know yet whether all rows are there.
  /// Returns the number of entries for which C then has memory.
  template <class V>
  std::uint64_t moveAhead(const AnalysisTotals&, KnownProductOnCuda<V>&);

  Context context_;
  SideStreams streams_;
  TotalsOnHost totalsOnHost_;
  PinnedValues<AnalysisTotals> totals_;
  Buffer<std::uint64_t> memory_; // memory of the last analysis, kept for the next if it is small
};

}
