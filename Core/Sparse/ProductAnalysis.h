#pragma once

#include "Core/Sparse/SpGemmOptions.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// Rows of a tile, and of a group for which one method is chosen.
constexpr std::size_t tileSide = 8;
/// Tiles are found through an array over all columns of tiles; wider matrices go by rows.
constexpr std::size_t largestTiledColumns = std::size_t(1) << 27;
/// Tiles win from about so many products for each pair of tiles that meet, of 512 at most; see dox/Decisions.
constexpr double productsPerTilePair = 16;

/// Groups of 8 rows of a matrix: how many 8 x 8 tiles of each have an entry.
struct TileCounts {
  std::vector<std::uint32_t> perGroup;
  std::uint64_t tiles = 0;
  double entriesPerTile = 0;
};

/// Throws Error(usage) for more than largestTiledColumns columns.
TileCounts countTiles(const Context&, const MatrixPattern&);

/// Pairs of a tile of A and a tile of B that meet, for each group of A.
std::vector<std::uint64_t> countTilePairs(const Context&, const MatrixPattern& a, const TileCounts& tilesOfB);

/// What one pass over A and the row starts of B says of A B.
struct ProductAnalysis {
  std::vector<std::uint64_t> groupProducts; // pairs of entries that meet, of each group of 8 rows
  std::vector<std::uint64_t> groupBound;    // entries of C at most
  std::uint64_t products = 0, bound = 0;    // their sums
};

/// Throws Error(usage) if A has other columns than B has rows.
void checkFactors(std::size_t rowsOfA, std::size_t columnsOfA, std::size_t rowsOfB, std::size_t columnsOfB);

/// Throws Error(usage) if A has other columns than B has rows, and Error(unreadableInput) if an entry of A lies outside.
ProductAnalysis analyseProduct(const Context&, const MatrixPattern& a, const MatrixPattern& b);

/// For each group whether tiles are expected to be faster: by its products for each pair of tiles.
std::vector<std::uint8_t> chooseTileGroups(const ProductAnalysis&, const std::vector<std::uint64_t>& tilePairs);

}
