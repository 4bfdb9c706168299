#pragma once

#include "Core/Sparse/SpGemmOptions.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// The number of rows and columns of a tile, and of rows in a group for which one method is chosen.
constexpr std::size_t tileSide = 8, numbersPerTile = tileSide * tileSide;
/// Wider matrices are multiplied by rows, because finding tiles takes an array with an element for each
/// column of tiles.
constexpr std::size_t largestTiledColumns = std::size_t(1) << 27;
/// Tiles are faster from about so many products for each pair of tiles that meet; a full pair has 512.
/// Decision 0017 has the measurements.
constexpr double productsPerTilePair = 8;
/// Under a mask tiles are faster from so many products on, since rows add up what the mask leaves
/// alone. This was measured with email-Enron and bcsstk29.
constexpr double productsPerTilePairMasked = 32;

/// For each group of 8 rows of a matrix: the 8 x 8 tiles with an entry.
struct TileLists {
  static constexpr std::size_t groupsPerChunk = 256;

  std::vector<std::uint64_t> start;                       // groups + 1 elements: tiles before each group
  std::vector<std::vector<std::uint32_t>> columnsOfChunk; // columns of tiles, group after group
  double entriesPerTile = 0;

  std::uint64_t tiles() const { return start.empty() ? 0 : start.back(); }
  std::size_t groups() const { return start.empty() ? 0 : start.size() - 1; }
  std::uint64_t count(std::size_t group) const { return start[group + 1] - start[group]; }
  /// The columns of the tiles of a group, in any order.
  std::span<const std::uint32_t> columns(std::size_t group) const
  {
    const std::size_t chunk = group / groupsPerChunk;
    return {columnsOfChunk[chunk].data() + (start[group] - start[chunk * groupsPerChunk]), count(group)};
  }
};

/// Throws Error(usage) for more than largestTiledColumns columns.
TileLists listTiles(const Context&, const MatrixPattern&);

/// For each group of A: the number of pairs of a tile of A and a tile of B that meet.
std::vector<std::uint64_t> countTilePairs(const Context&, const TileLists& a, const TileLists& b);

/// Facts about A B that one pass over A and the row starts of B finds.
struct ProductAnalysis {
  std::vector<std::uint64_t> groupProducts; // pairs of entries that meet, for each group of 8 rows
  std::vector<std::uint64_t> groupBound;    // an upper bound of the entries of C, for each group
  std::uint64_t products = 0, bound = 0;    // the sums of the two arrays
};

/// Throws Error(usage) unless A has as many columns as B has rows.
void checkFactors(std::size_t rowsOfA, std::size_t columnsOfA, std::size_t rowsOfB, std::size_t columnsOfB);

/// Throws Error(usage) unless A has as many columns as B has rows, and Error(unreadableInput) if an entry of
/// A lies outside the matrix.
ProductAnalysis analyseProduct(const Context&, const MatrixPattern& a, const MatrixPattern& b);

/// Cuts groups of 8 rows into chunks of about equal numbers of products. Returns the first group of each
/// chunk and, at the end, `last`.
std::vector<std::size_t> chunkGroups(const ProductAnalysis&, std::size_t first, std::size_t last);

/// For each group: 1 if tiles are probably faster, because it has at least `productsAPair` products for
/// each pair of tiles.
std::vector<std::uint8_t> chooseTileGroups(const ProductAnalysis&,
                                           const std::vector<std::uint64_t>& tilePairs, double productsAPair);

}
