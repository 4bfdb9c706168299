#pragma once

#include "Core/Sparse/TileMatrix.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// Eight rows of C = A B from tiles; a workspace of one thread. Products of an entry of C are added in the order of k, so the bits
/// are those of the row method if all numbers of A and B are finite (what is no entry takes part as a zero).
template <class V>
class TileProduct {
public:
  TileProduct(const TileMatrix<V>& b, std::size_t columns) : b_(b), seen_(columns / tileSide + 1), slot_(columns / tileSide + 1) {}

  /// From one row of tiles of A.
  void compute(const TileRow<V>& a);
  /// Row r (0 to 7) of what was computed, columns rising; returns how many. Writes up to 8 entries more.
  std::size_t emitRow(unsigned r, std::uint32_t* column, V* value) const;
  /// The numbers of row r in the given columns, which must be among those that emitRow gives.
  void gatherRow(unsigned r, const std::uint32_t* column, std::size_t count, V* value) const;

private:
  void findTiles(const TileRow<V>& a);

  const TileMatrix<V>& b_;
  ColumnSet seen_;
  std::vector<std::uint32_t> slot_, column_; // where in the arrays below the tiles of a column are; the columns
  std::vector<std::uint64_t> bitmap_;
  Array<V> sums_; // 64 per tile
};

}
