#pragma once

#include "Core/Sparse/SpGemmOptions.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// Rows of a tile, and of a group for which one method is chosen.
constexpr std::size_t tileSide = 8;
/// Tiles are found through an array over all columns of tiles; wider matrices go by rows.
constexpr std::size_t largestTiledColumns = std::size_t(1) << 27;
/// Tiles win from about so many products for each pair of tiles that meet, of 512 at most; see dox/Decisions.
constexpr double productsPerTilePair = 8;

/// The 8 x 8 tiles with an entry that each group of 8 rows of a matrix has.
struct TileLists {
  static constexpr std::size_t groupsPerChunk = 256;

  std::vector<std::uint64_t> start;                       // groups + 1: tiles before each group
  std::vector<std::vector<std::uint32_t>> columnsOfChunk; // columns of tiles, group after group
  double entriesPerTile = 0;

  std::uint64_t tiles() const { return start.empty() ? 0 : start.back(); }
  std::size_t groups() const { return start.empty() ? 0 : start.size() - 1; }
  std::uint64_t count(std::size_t group) const { return start[group + 1] - start[group]; }
  /// Columns of the tiles of a group, in any order.
  std::span<const std::uint32_t> columns(std::size_t group) const
  {
    const std::size_t chunk = group / groupsPerChunk;
    return {columnsOfChunk[chunk].data() + (start[group] - start[chunk * groupsPerChunk]), count(group)};
  }
};

/// Throws Error(usage) for more than largestTiledColumns columns.
TileLists listTiles(const Context&, const MatrixPattern&);

/// Pairs of a tile of A and a tile of B that meet, for each group of A.
std::vector<std::uint64_t> countTilePairs(const Context&, const TileLists& a, const TileLists& b);

/// What one pass over A and the row starts of B says of A B.
struct ProductAnalysis {
  std::vector<std::uint64_t> groupProducts; // pairs of entries that meet, of each group of 8 rows
  std::vector<std::uint64_t> groupBound;    // entries of C at most
  std::uint64_t products = 0, bound = 0;    // their sums
};

/// Throws Error(usage) if A has other columns than B has rows.
void checkFactors(std::size_t rowsOfA, std::size_t columnsOfA, std::size_t rowsOfB, std::size_t columnsOfB);

/// Throws Error(usage) if A has other columns than B has rows, and Error(unreadableInput) if an entry of A
/// lies outside.
ProductAnalysis analyseProduct(const Context&, const MatrixPattern& a, const MatrixPattern& b);

/// For each group whether tiles are expected to be faster: by its products for each pair of tiles.
std::vector<std::uint8_t> chooseTileGroups(const ProductAnalysis&,
                                           const std::vector<std::uint64_t>& tilePairs);

}
