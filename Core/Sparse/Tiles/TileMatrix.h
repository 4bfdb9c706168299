#pragma once

#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Rows/ColumnSet.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// What a tile holds where the matrix has an entry.
enum class TileValues { asTheyAre, ones, oneIfNotZero };

/// A matrix in 8 x 8 tiles that have an entry, by rows of tiles. Bit r * 8 + c of a bitmap, and number r * 8
/// + c of the 64 of a tile, belong to row r and column c of the tile; numbers without an entry are 0.
template <class V>
struct TileMatrix {
  std::vector<std::uint64_t> rowStart; // rows of tiles + 1
  std::vector<std::uint32_t> column;   // of tiles
  std::vector<std::uint64_t> bitmap;   // per tile
  std::vector<std::uint8_t> rowMask;   // bit r: row r of the tile has an entry
  Array<V> numbers;                    // 64 per tile
};

/// One row of tiles; what TileMatrix holds for all.
template <class V>
struct TileRow {
  std::size_t count = 0;
  const std::uint32_t* column = nullptr;
  const std::uint64_t* bitmap = nullptr;
  const V* numbers = nullptr;
};

/// Makes rows of tiles of matrices whose columns rise in each row; a workspace of one thread.
template <class V>
class TileRowBuilder {
public:
  explicit TileRowBuilder(std::size_t columns) : seen_(columns / tileSide + 1), slot_(columns / tileSide + 1)
  {
  }

  /// The tiles of rows 8 group .. 8 group + 7, whose columns `tiles` lists in any order, to the three arrays.
  void build(const CsrMatrix<V>&, std::size_t group, std::span<const std::uint32_t> tiles, TileValues,
             std::uint32_t* column, std::uint64_t* bitmap, V* numbers);
  /// The same in memory of this object, until the next call.
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

/// The tiles of those rows of tiles that `wanted` names; the others are left empty.
template <class V>
TileMatrix<V> tilesOf(const Context&, const CsrMatrix<V>&, const TileLists&,
                      const std::vector<std::uint8_t>& wanted, TileValues);

}
