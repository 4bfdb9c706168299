#pragma once

#include "Core/Sparse/Tiles/TileMatrix.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// Computes rows of C = A B from tiles, for a group of 8 rows at a time. Each thread needs an object of its
/// own. The products of an entry of C are added in the order of k, so the result has the bits of the method
/// "rows" if all values of A and B are finite (places without an entry are multiplied as zeros).
///
/// for each tile of A in the group, in column k of tiles:
///   for each tile of B in row k: C's tile += A's tile * B's tile, and its bitmap |= their boolean product
template <class V>
class TileProduct {
public:
  TileProduct(const TileMatrix<V>& b, std::size_t columns);

  /// Computes the group that has this row of tiles of A.
  void compute(const TileRow<V>& a);
  /// Writes row r (0 to 7) of the group, with rising columns. Returns the number of entries.
  std::size_t emitRow(unsigned r, std::uint32_t* column, V* value) const;
  /// Writes the values of that row at the given columns, which must be among those that emitRow writes.
  void gatherRow(unsigned r, const std::uint32_t* column, std::size_t count, V* value) const;

private:
  void findTiles(const TileRow<V>& a);

  const TileMatrix<V>& b_;
  ColumnSet seen_;
  std::vector<std::uint64_t> products_; // patterns of products
  // `slot_` has the number of C's tile for each column of tiles. `column_` has the column of each tile.
  std::vector<std::uint32_t> slot_, column_;
  std::vector<std::uint64_t> bitmap_;
  Array<V> numbers_; // 64 for each tile
};

}
