#include "Core/Sparse/TileMatrix.h"

#include "Core/Compute/Parallel.h"
#include "Core/Sparse/OrderedRows.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t tileRowsPerChunk = 64, numbersPerTile = tileSide * tileSide;

template <class V>
V tileNumber(V value, TileValues values)
{
  return values == TileValues::asTheyAre ? value : values == TileValues::ones ? V(1) : V(value != 0);
}

std::uint8_t rowMaskOf(std::uint64_t bitmap)
{
  std::uint8_t mask = 0;
  for (unsigned r = 0; r < tileSide; ++r)
    mask |= static_cast<std::uint8_t>((bitmap >> (8 * r) & 0xff) != 0) << r;
  return mask;
}

}

template <class V>
void TileRowBuilder<V>::build(const CsrMatrix<V>& matrix, std::size_t group, std::size_t count, TileValues values,
                              std::uint32_t* column, std::uint64_t* bitmap, V* numbers)
{
  if (count == 0)
    return;
  const std::size_t firstRow = group * tileSide, lastRow = std::min(firstRow + tileSide, matrix.rows);
  std::uint32_t low = ~0u, high = 0;
  for (std::uint64_t i = matrix.rowStart[firstRow]; i < matrix.rowStart[lastRow]; ++i) {
    const std::uint32_t tile = matrix.column[i] / tileSide;
    seen_.add(tile);
    low = std::min(low, tile);
    high = std::max(high, tile);
  }
  std::uint32_t next = 0;
  seen_.drain(low, high, [&](std::uint32_t tile) {
    slot_[tile] = next;
    column[next++] = tile;
  });
  std::fill_n(bitmap, count, 0);
  std::fill_n(numbers, count * numbersPerTile, V(0));
  for (std::size_t row = firstRow; row < lastRow; ++row)
    for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i) {
      const std::size_t slot = slot_[matrix.column[i] / tileSide];
      const std::size_t place = (row - firstRow) * tileSide + matrix.column[i] % tileSide;
      bitmap[slot] |= std::uint64_t(1) << place;
      numbers[slot * numbersPerTile + place] = tileNumber(matrix.value[i], values);
    }
}

template <class V>
TileRow<V> TileRowBuilder<V>::build(const CsrMatrix<V>& matrix, std::size_t group, std::size_t count, TileValues values)
{
  if (column_.size() < count) {
    column_.resize(count);
    bitmap_.resize(count);
    numbers_ = Array<V>(count * numbersPerTile);
  }
  build(matrix, group, count, values, column_.data(), bitmap_.data(), numbers_.data());
  return {count, column_.data(), bitmap_.data(), numbers_.data()};
}

template <class V>
TileMatrix<V> tilesOf(const Context& context, const CsrMatrix<V>& matrix, const TileCounts& counts,
                      const std::vector<std::uint8_t>& wanted, TileValues values)
{
  TileMatrix<V> tiles;
  const std::size_t tileRows = counts.perGroup.size();
  tiles.rowStart.resize(tileRows + 1);
  for (std::size_t row = 0; row < tileRows; ++row)
    tiles.rowStart[row + 1] = tiles.rowStart[row] + (wanted[row] ? counts.perGroup[row] : 0);
  const std::uint64_t total = tiles.rowStart[tileRows];
  tiles.column.resize(total);
  tiles.bitmap.resize(total);
  tiles.rowMask.resize(total);
  tiles.numbers = Array<V>(total * numbersPerTile);
  Workspaces<TileRowBuilder<V>> workspaces;
  forEachRange(context, tileRows, tileRowsPerChunk, [&](std::size_t first, std::size_t last) {
    auto builder = workspaces.borrow([&] { return std::make_unique<TileRowBuilder<V>>(matrix.columns); });
    for (std::size_t row = first; row < last; ++row) {
      const std::uint64_t start = tiles.rowStart[row], end = tiles.rowStart[row + 1];
      builder->build(matrix, row, end - start, values, tiles.column.data() + start, tiles.bitmap.data() + start,
                     tiles.numbers.data() + start * numbersPerTile);
      for (std::uint64_t tile = start; tile < end; ++tile)
        tiles.rowMask[tile] = rowMaskOf(tiles.bitmap[tile]);
    }
    workspaces.giveBack(std::move(builder));
  });
  return tiles;
}

#define TESSERA_FOR_VALUE(V)                                                                                                       \
  template class TileRowBuilder<V>;                                                                                                \
  template TileMatrix<V> tilesOf<V>(const Context&, const CsrMatrix<V>&, const TileCounts&, const std::vector<std::uint8_t>&,      \
                                    TileValues);
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
