#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>
#include <limits>
#include <span>

namespace tessera {

/// Tiles win on CUDA from about so many products for each pair of tiles that meet; see dox/Decisions.
constexpr double productsPerTilePairOnCuda = 7;
/// Thresholds that choose tiles for every group and for none.
constexpr double alwaysTiles = 0, neverTiles = std::numeric_limits<double>::infinity();
/// Automatic: by rows if less than this part of the sampled groups would go by tiles.
constexpr std::uint32_t fewestTiledShare = 16;
/// A row of tiles of B has at most so many: they are numbered in 16 bits, 0 is none.
constexpr std::uint32_t mostTilesOfRowOnCuda = 65535;

/// How a row of C is computed. Rows of few products are expanded and sorted in registers by neighbouring
/// lanes; more than 512 are brought to shared memory; if they become few entries a warp adds them up there;
/// the longest rows have a block each.
enum RowBin {
  sorted8, // of at most so many products
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
  warp512, // of at most so many entries
  long8192,
  anyLong,
  rowBins
};

/// Products of rows that are brought to shared memory, at most.
constexpr std::uint32_t mostStagedProducts = 8192;

/// Whether a row of so many products and entries is added up by a warp: it does as much as a block, with less
/// memory.
TESSERA_HOST_DEVICE inline bool isForWarp(std::uint32_t products, std::uint32_t entries)
{
  constexpr std::uint32_t manyProducts = 2048, manyProductsAnEntry = 6;
  return entries > 0 && entries <= 512 && products > manyProducts && products > entries * manyProductsAnEntry;
}

/// A row that was not made, in a list of where rows stand in scratch memory.
constexpr std::uint32_t notMade = 0xffffffff;

/// Rows of each bin, wherever in a list they are.
struct RowBinCounts {
  std::uint32_t of[rowBins];
};

/// Of one matrix.
struct TileTotals {
  unsigned long long sampledEntries, sampledTiles; // of some groups of 8 rows
  unsigned long long tiles;                        // of all that are wanted; 0: not counted
  std::uint32_t mostOfRow;                         // tiles of a row of tiles at most

  TESSERA_HOST_DEVICE double sampledEntriesPerTile() const
  {
    return static_cast<double>(sampledEntries) / static_cast<double>(sampledTiles > 0 ? sampledTiles : 1);
  }
};

/// What kernels count; zero before.
struct AnalysisTotals {
  unsigned long long products, entriesBound;          // pairs of entries that meet, entries of C at most
  TileTotals a, b;                                    // b: unused if B is A
  unsigned long long sampledProducts, sampledEntries; // of some rows of C, the entries about
  unsigned long long productsOfRows;                  // of rows that do not go by tiles
  unsigned long long madeEntries;         // of rows that are in scratch memory, or found no room there
  unsigned long long keptTiles;           // of C, or for which there was no room
  std::uint32_t samplesDone, tilesMayWin; // 1: the samples say that tiles are worth counting
  std::uint32_t tileGroups;               // groups of 8 rows that go by tiles
  RowBinCounts rows, rowsBySize; // of the others: by products, and once their entries are counted by entries
  std::uint32_t notFinite,
      overflowed;        // 1: a number of a tile is not finite; a sum of int64 is beyond 64 bits
  std::uint32_t anyLeft; // 1: a row that was to be made found no room or only told its size
  std::uint32_t blocksThatChose, blocksThatBinned; // of kernels whose last block tells the host
};

struct ToldTotals;

/// Where a kernel tells the host what it found, see TotalsOnHost; nowhere if `host` is null.
struct TotalsTarget {
  ToldTotals* host = nullptr;
  std::uint32_t turn = 0;
};

/// What one pass over A, the row starts of B and, if tiles may win, over B finds. All arrays are on the
/// device.
struct ProductAnalysisOnCuda {
  /// In `memory`, if it is large enough.
  ProductAnalysisOnCuda(const Context&, const PatternView& a, const PatternView& b,
                        Buffer<std::uint64_t> memory = {});

  Buffer<std::uint64_t> memory;    // of all arrays, so that it is taken and given back at once
  std::span<std::uint64_t> zeroed; // those that are 0 before the analysis: totals and scanState
  AnalysisTotals* totals;
  std::span<unsigned long long> scanState; // of scanAndTellOnCuda over the rows
  std::span<std::uint32_t> products;       // of each row, at most 2^32 - 1, rows + 1; 0 for rows by tiles
  std::span<std::uint32_t> rowCounts;      // entries of each row of C, rows + 1; 0 for rows without products
  std::span<std::uint32_t> binnedRows;     // rows of each bin, from bin * rows on
  std::span<std::uint32_t> madeAt;         // where each row of C begins in scratch memory; notMade
  std::span<std::uint32_t> tileGroups;     // first ones of the totals
  std::span<std::uint32_t> tilesOfA,
      tilesOfB;                   // in each group of 8 rows, groups + 1; only counted if tiles may win
  Buffer<std::uint8_t> wantedOfB; // 1: a group of B that the product needs; empty: all
};

/// Fills the analysis but for rowCounts of rows that have products; no row is made. `threshold` is that of
/// products for a pair of tiles. If `same`, B is A. `estimate`: C's entries are estimated from some rows.
/// `entriesPerTileOfB`: if given, groups are looked at one by one; else some of them tell what it is, and
/// whether tiles may win anywhere. Nothing waits; the totals are told.
void analyseOnCuda(const Context&, const PatternView& a, const PatternView& b, bool same, double threshold,
                   bool estimate, ProductAnalysisOnCuda&, double entriesPerTileOfB = 0,
                   const TotalsTarget& = {});

/// Sorts the rows that were not made into bins again, by the entries in rowCounts; tells the totals and
/// rowStart[rows].
void binBySizeOnCuda(const Context&, std::size_t rows, const std::uint64_t* rowStart, ProductAnalysisOnCuda&,
                     const TotalsTarget&);

/// starts[i]: the sum of counts before i, for i from 0 to `count`; counts has count + 1 elements, the last
/// one is only read.
void scanOnCuda(const Context&, std::size_t count, const std::uint32_t* counts, std::uint64_t* starts);
void scanOnCuda(const Context&, std::size_t count, const std::uint32_t* counts, std::uint32_t* starts);
/// The same of the entries of `rows` rows that the analysis has; tells the totals and the sum of all.
void scanAndTellOnCuda(const Context&, std::size_t rows, const ProductAnalysisOnCuda&, std::uint64_t* starts,
                       const TotalsTarget&);
/// Elements of the state of such a scan.
std::size_t scanStateSize(std::size_t count);

}
