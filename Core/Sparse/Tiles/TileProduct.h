#pragma once

#include "Core/Sparse/Tiles/TileMatrix.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// The number of groups that are computed together. Rows of tiles of B that they share are then read from the
/// first-level cache.
constexpr std::size_t groupsAtOnce = 4;

/// Computes rows of C = A B from tiles, for up to groupsAtOnce groups of 8 rows at a time. Each thread needs
/// an object of its own. The products of an entry of C are added in the order of k, so the result has the
/// bits of the method "rows" if all values of A and B are finite (places without an entry are multiplied as
/// zeros).
///
/// for each row k of tiles of B that some group needs, in rising order:
///   prefetch the row of tiles that comes next
///   for each group whose row of tiles of A has a tile in column k:
///     for each tile of B in row k: C's tile += A's tile * B's tile, and its bitmap |= their boolean product
template <class V>
class TileProduct {
public:
  TileProduct(const TileMatrix<V>& b, std::size_t columns);

  /// Computes the groups whose rows of tiles of A are given, one for each group.
  void compute(std::span<const TileRow<V>> a);
  /// Writes row r (0 to 7) of a computed group, with rising columns. Returns the number of entries.
  std::size_t emitRow(std::size_t group, unsigned r, std::uint32_t* column, V* value) const;
  /// Writes the values of that row at the given columns, which must be among those that emitRow writes.
  void gatherRow(std::size_t group, unsigned r, const std::uint32_t* column, std::size_t count,
                 V* value) const;

private:
  struct Sums {
    // `slot` has the number of C's tile for each column of tiles. `column` has the column of each tile.
    std::vector<std::uint32_t> slot, column;
    std::vector<std::uint64_t> bitmap;
    Array<V> numbers; // 64 for each tile
  };
  void findTiles(const TileRow<V>& a, Sums&);

  const TileMatrix<V>& b_;
  ColumnSet seen_;
  std::vector<std::uint64_t> products_; // patterns of products
  std::array<Sums, groupsAtOnce> sums_;
};

}
