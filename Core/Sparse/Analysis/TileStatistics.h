#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <array>
#include <cstdint>

namespace tessera {

/// Rows and columns of the tiles that are counted.
constexpr std::array<std::size_t, 3> countedSides{4, 8, 16};

/// The tiles of a matrix that have an entry, and how many entries they have.
struct TileStatistics {
  std::uint64_t tiles = 0;
  double median = 0, mean = 0, deviation = 0; // of the entries of a tile
};

/// Tiles of a product, for each of countedSides. Source: the columns of table 3.1 of O. Zachariadis, doctoral
/// thesis, chapter 3.
struct ProductTiles {
  std::array<TileStatistics, countedSides.size()> a, b, product;
  std::array<std::uint64_t, countedSides.size()> pairs{}; // of a tile of A and a tile of B that meet
};

/// Counts the tiles of A, B and A B. It takes the time of a product by rows, but memory for some rows alone.
/// No row of A or B may have a column twice, and A as many columns as B rows.
ProductTiles countProductTiles(const Context&, const MatrixPattern& a, const MatrixPattern& b);

}
