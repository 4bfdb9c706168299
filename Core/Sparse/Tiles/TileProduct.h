#pragma once

#include "Core/Sparse/Tiles/TileMatrix.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// Groups that are computed at once: rows of tiles of B that they share are then read from the first cache.
constexpr std::size_t groupsAtOnce = 4;

/// Rows of C = A B from tiles, for up to groupsAtOnce groups of 8 rows; a workspace of one thread. Products
/// of an entry of C are added in the order of k, so the bits are those of the row method if all numbers of A
/// and B are finite (what is no entry takes part as a zero).
template <class V>
class TileProduct {
public:
  TileProduct(const TileMatrix<V>& b, std::size_t columns);

  /// From rows of tiles of A, one a group.
  void compute(std::span<const TileRow<V>> a);
  /// Row r (0 to 7) of a group that was computed, columns rising; returns how many.
  std::size_t emitRow(std::size_t group, unsigned r, std::uint32_t* column, V* value) const;
  /// The numbers of that row in the given columns, which must be among those that emitRow gives.
  void gatherRow(std::size_t group, unsigned r, const std::uint32_t* column, std::size_t count,
                 V* value) const;

private:
  struct Sums {
    std::vector<std::uint32_t> slot,
        column; // where the tiles of a column are in the arrays below; the columns
    std::vector<std::uint64_t> bitmap;
    Array<V> numbers; // 64 per tile
  };
  void findTiles(const TileRow<V>& a, Sums&);

  const TileMatrix<V>& b_;
  ColumnSet seen_;
  std::vector<std::uint64_t> products_; // of patterns
  std::array<Sums, groupsAtOnce> sums_;
};

}
