#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>
#include <limits>
#include <span>

namespace tessera {

/// On CUDA devices tiles are faster from about so many products for each pair of tiles that meet. Decision
/// 0018 has the measurements.
constexpr double productsPerTilePairOnCuda = 7;
/// A group of 8 rows whose tiles are multiplied takes as long as so many products by rows, however few its
/// tiles are.
constexpr double productsOfAGroup = 500;
/// Thresholds that choose tiles for every group, and for none.
constexpr double alwaysTiles = 0, neverTiles = std::numeric_limits<double>::infinity();
/// Tiles are not considered if fewer than 1 in so many sampled groups would use them.
constexpr std::uint32_t fewestTiledShare = 16;
/// The largest number of tiles in a row of tiles of B. Kernels number them in 16 bits, with 0 for none.
constexpr std::uint32_t maxTilesOfRowOnCuda = 65535;

/// The ways of computing a row of C. Rows of up to 512 products are expanded and sorted in registers by
/// neighbouring lanes. Rows of up to 8192 products are staged in shared memory. Rows with many products for
/// few entries are added up by a warp. Still longer rows have a block each.
enum RowBin {
  sorted8, // up to 8 products, and so on
  sorted16,
  sorted32,
  sorted64,
  sorted128,
  sorted256,
  sorted512,
  staged1024,
  staged2048,
  staged4096,
  staged8192,
  warp512, // up to 512 entries, see isForWarp
  long8192,
  anyLong,
  rowBins
};

/// The largest number of products of a row that is staged in shared memory.
constexpr std::uint32_t maxStagedProducts = 8192;

/// True if a warp adds up a row of so many products and entries. A warp does as much as a block here with
/// less shared memory.
TESSERA_HOST_DEVICE inline bool isForWarp(std::uint32_t products, std::uint32_t entries)
{
  constexpr std::uint32_t manyProducts = 2048, manyProductsAnEntry = 6;
  return entries > 0 && entries <= 512 && products > manyProducts && products > entries * manyProductsAnEntry;
}

/// The place of a row that is not in scratch memory.
constexpr std::uint32_t notMade = 0xffffffff;

/// The number of rows in each bin.
struct RowBinCounts {
  std::uint32_t of[rowBins];
};

/// Counts about the tiles of one matrix.
struct TileTotals {
  unsigned long long sampledEntries, sampledTiles; // over the sampled groups of 8 rows
  unsigned long long tiles;                        // over all groups that are wanted; 0 if not counted
  std::uint32_t maxTilesOfRow;                     // largest number of tiles in a row of tiles

  TESSERA_HOST_DEVICE double sampledEntriesPerTile() const
  {
    return static_cast<double>(sampledEntries) / static_cast<double>(sampledTiles > 0 ? sampledTiles : 1);
  }
};

/// The totals of the analysis. They are 0 before it; kernels add to them.
struct AnalysisTotals {
  unsigned long long products;                        // pairs of entries that meet
  unsigned long long entriesBound;                    // upper bound of the entries of C
  TileTotals a, b;                                    // b is not used if B is A
  unsigned long long sampledProducts, sampledEntries; // over the sampled rows; the entries are an estimate
  unsigned long long productsOfRows;                  // products of the rows that do not use tiles
  unsigned long long madeEntries; // entries of rows that are in scratch memory or found no room there
  unsigned long long keptTiles;   // tiles of C that were kept or found no room
  std::uint32_t samplesDone;      // blocks that have taken their sample
  std::uint32_t tilesMayWin;      // 1: the samples say that tiles are worth counting
  std::uint32_t tileGroups;       // groups of 8 rows that use tiles
  // The other rows: by their products, and by their entries once these are counted.
  RowBinCounts rows, rowsBySize;
  std::uint32_t notFinite;  // 1: a value in a tile is not finite
  std::uint32_t overflowed; // 1: a sum of int64 left the range
  std::uint32_t anyLeft;    // 1: a row found no room in scratch memory, or only its size was counted
  std::uint32_t blocksThatChose, blocksThatBinned; // blocks that are done; the last one reports to the host
};

struct ReportedTotals;

/// Where a kernel reports totals to the host, see TotalsOnHost. It reports nothing if `host` is null.
struct TotalsTarget {
  ReportedTotals* host = nullptr;
  std::uint32_t turn = 0;
};

/// The results of a pass over A and the row starts of B, and over B's entries if tiles may be faster. All
/// arrays are in device memory.
struct ProductAnalysisOnCuda {
  /// Uses `memory` if it is large enough.
  ProductAnalysisOnCuda(const Context&, const PatternView& a, const PatternView& b,
                        Buffer<std::uint64_t> memory = {});

  Buffer<std::uint64_t> memory;    // holds all arrays below, so that one allocation serves them
  std::span<std::uint64_t> zeroed; // the part that is 0 before the analysis: totals and scanState
  AnalysisTotals* totals;
  std::span<unsigned long long> scanState; // for scanAndReportOnCuda over the rows
  // rows + 1: products of each row, at most 2^32 - 1; 0 for rows that use tiles
  std::span<std::uint32_t> products;
  std::span<std::uint32_t> rowCounts;  // rows + 1: entries of each row of C; 0 for rows without products
  std::span<std::uint32_t> binnedRows; // the rows of each bin, from bin * rows on
  std::span<std::uint32_t> madeAt;     // place of each row of C in scratch memory, or notMade
  std::span<std::uint32_t> tileGroups; // totals->tileGroups groups
  // groups + 1: tiles in each group of 8 rows; counted only if tiles may be faster
  std::span<std::uint32_t> tilesOfA, tilesOfB;
  Buffer<std::uint8_t> wantedOfB; // 1 for groups of B that the product needs; empty if it needs all
};

/// Fills the analysis, but for rowCounts of rows that have products. `threshold`: products for each pair of
/// tiles from which tiles are chosen, in groups of many products (see productsOfAGroup). `same`: B is A.
/// `estimate`: estimate the entries of C from some rows. `entriesPerTileOfB`: if above 0, each group is
/// decided by it; if 0, samples determine it and decide whether tiles are considered at all. Does not wait;
/// the totals are reported to the target.
void analyseOnCuda(const Context&, const PatternView& a, const PatternView& b, bool same, double threshold,
                   bool estimate, ProductAnalysisOnCuda&, double entriesPerTileOfB = 0,
                   const TotalsTarget& = {});

/// Sorts the rows that are not in scratch memory into bins anew, by the entries in rowCounts. Reports the
/// totals and rowStart[rows].
void binBySizeOnCuda(const Context&, std::size_t rows, const std::uint64_t* rowStart, ProductAnalysisOnCuda&,
                     const TotalsTarget&);

/// Sets starts[i] to the sum of the counts before i, for i from 0 to `count`. `counts` must have count + 1
/// elements; the last one has no influence.
TESSERA_CUDA_ONLY void scanOnCuda(const Context&, std::size_t count, const std::uint32_t* counts,
                                  std::uint64_t* starts);
TESSERA_CUDA_ONLY void scanOnCuda(const Context&, std::size_t count, const std::uint32_t* counts,
                                  std::uint32_t* starts);
/// The same for the analysis' rowCounts of `rows` rows. Reports the totals and the sum of all counts.
void scanAndReportOnCuda(const Context&, std::size_t rows, const ProductAnalysisOnCuda&,
                         std::uint64_t* starts, const TotalsTarget&);
/// The number of elements of scanState for so many counts.
std::size_t scanStateSize(std::size_t count);

}
