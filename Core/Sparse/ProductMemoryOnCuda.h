#pragma once

#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Tiles/TilesOnCuda.h"

#include <algorithm>
#include <optional>
#include <string>

namespace tessera {

/// If A is a range of the rows of B: the number of the row of tiles of B where A begins. Empty otherwise, and
/// if the range cuts through tiles.
template <class V>
std::optional<std::size_t> firstGroupIn(const CsrView<V>& a, const CsrView<V>& b)
{
  if (a.column != b.column || a.value != b.value || a.rowStart < b.rowStart
      || a.rowStart + a.rows > b.rowStart + b.rows)
    return {};
  const auto first = static_cast<std::size_t>(a.rowStart - b.rowStart);
  const bool wholeTiles = first % tileSide == 0 && (a.rows % tileSide == 0 || first + a.rows == b.rows);
  return wholeTiles ? std::optional(first / tileSide) : std::nullopt;
}

/// The bytes that the tiles of both operands take.
template <class V>
std::uint64_t tileBytes(const CsrView<V>& a, const CsrView<V>& b, bool same, const AnalysisTotals& totals)
{
  const std::uint64_t ofB = TilesOnCuda<V>::bytes(b.rows, (same ? totals.a : totals.b).tiles);
  return firstGroupIn(a, b) ? ofB : ofB + TilesOnCuda<V>::bytes(a.rows, totals.a.tiles);
}

/// The number of tiles of C that may be kept from counting to multiplying. Few products have more tiles than
/// that; tiles that find no room are found again.
inline std::uint32_t roomForTiles(const AnalysisTotals& totals)
{
  constexpr std::uint64_t tilesATileOfA = 8;
  const std::uint64_t ofA =
      totals.a.tiles > 0 ? totals.a.tiles : totals.b.tiles; // tiles of A are not counted if A is rows of B
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(tilesATileOfA * ofA + 1, 0xffffffff));
}

inline std::uint64_t rowsIn(const RowBinCounts& bins)
{
  std::uint64_t sum = 0;
  for (const std::uint32_t count : bins.of)
    sum += count;
  return sum;
}

/// Bytes that the analysis takes for each row of A.
constexpr std::uint64_t bytesARow = (3 + rowBins) * sizeof(std::uint32_t);

/// The estimated number of products that are added up in an entry of C.
inline double productsAnEntry(const AnalysisTotals& totals)
{
  const auto sampled = [](unsigned long long count) { return static_cast<double>(std::max(count, 1ull)); };
  return sampled(totals.sampledProducts) / sampled(totals.sampledEntries);
}

/// The number of entries for which to reserve scratch memory: 8 % more than the rows probably have. Only rows
/// of up to 128 products count unless `alsoWide`.
inline std::uint32_t roomForRows(const AnalysisTotals& totals, bool alsoWide)
{
  constexpr double spare = 1.08;
  constexpr std::uint64_t fewest = 4096;
  std::uint64_t products = 0; // an upper bound
  for (int bin = sorted8; bin <= sorted128; ++bin)
    products += std::uint64_t{totals.rows.of[bin]} << (bin - sorted8 + 3);
  products = alsoWide ? totals.productsOfRows : std::min<std::uint64_t>(products, totals.productsOfRows);
  const auto wanted =
      static_cast<std::uint64_t>(spare * static_cast<double>(products) / productsAnEntry(totals));
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::min(wanted + fewest, products), notMade - 1));
}
static_assert(8 << (sorted128 - sorted8) == 128);

/// Throws Error(outOfMemory) if there is a limit (not 0) and `wanted` bytes exceed it.
inline void checkMemory(std::uint64_t wanted, std::size_t most)
{
  if (most > 0 && wanted > most)
    throw Error(ExitCode::outOfMemory,
                "A B on CUDA: C and what it takes to make it: " + std::to_string(wanted)
                    + " bytes, more than the limit of " + std::to_string(most)
                    + ". Allowed: a larger limit, or C in ranges of rows.");
}

}
