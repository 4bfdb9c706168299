#pragma once

#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Rows/ColumnSet.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// The number that a tile has where the matrix has an entry.
enum class TileValues { asTheyAre, ones, oneIfNotZero };

/// A matrix in 8 x 8 tiles, by rows of tiles; only tiles with an entry are stored. Row r and column c of a
/// tile are bit 8 r + c of its bitmap and number 8 r + c of its 64 numbers. Numbers without an entry are 0.
template <class V>
struct TileMatrix {
  std::vector<std::uint64_t> rowStart; // rows of tiles + 1 elements
  std::vector<std::uint32_t> column;   // for each tile: its column of tiles
  std::vector<std::uint64_t> bitmap;   // for each tile: where it has entries
  std::vector<std::uint8_t> rowMask;   // for each tile: bit r is set if its row r has an entry
  Array<V> numbers;                    // 64 for each tile
};

/// One row of tiles, with arrays as in TileMatrix.
template <class V>
struct TileRow {
  std::size_t count = 0;
  const std::uint32_t* column = nullptr;
  const std::uint64_t* bitmap = nullptr;
  const V* numbers = nullptr;
  // The columns of tiles, rising, where the product is wanted; none: everywhere.
  std::optional<std::span<const std::uint32_t>> wanted = {};
};

/// Builds rows of tiles of matrices whose columns rise in each row. Each thread needs an object of its own.
template <class V>
class TileRowBuilder {
public:
  explicit TileRowBuilder(std::size_t columns) : seen_(columns / tileSide + 1), slot_(columns / tileSide + 1)
  {
  }

  /// Builds the tiles of rows 8 group .. 8 group + 7 in the given arrays. `tiles` lists their columns of
  /// tiles in any order.
  void build(const CsrMatrix<V>&, std::size_t group, std::span<const std::uint32_t> tiles, TileValues,
             std::uint32_t* column, std::uint64_t* bitmap, V* numbers);
  /// Builds them in memory of this object, where they stay until the next call.
  TileRow<V> build(const CsrMatrix<V>&, std::size_t group, std::span<const std::uint32_t> tiles, TileValues);

private:
  template <TileValues values>
  void fill(const CsrMatrix<V>&, std::size_t group, std::uint64_t* bitmap, V* numbers) const;

  ColumnSet seen_;
  std::vector<std::uint32_t> slot_;
  std::vector<std::uint32_t> column_;
  std::vector<std::uint64_t> bitmap_;
  Array<V> numbers_;
};

/// Builds the rows of tiles for which `wanted` is not 0. The other rows of tiles are empty.
template <class V>
TileMatrix<V> tilesOf(const Context&, const CsrMatrix<V>&, const TileLists&,
                      const std::vector<std::uint8_t>& wanted, TileValues);

}
