#include "Core/Sparse/Tiles/TileMatrix.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Rows/OrderedRows.h"

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

constexpr std::size_t tileRowsPerChunk = 64;

std::uint8_t rowMaskOf(std::uint64_t bitmap)
{
  bitmap |= bitmap >> 4;
  bitmap |= bitmap >> 2;
  bitmap |= bitmap >> 1;
  return static_cast<std::uint8_t>((bitmap & 0x0101010101010101) * 0x0102040810204080 >> 56);
}

}

/// Writes the entries of a row of tiles to bitmaps and numbers that are 0 before.
template <class V>
template <TileValues values>
void TileRowBuilder<V>::fill(const CsrMatrix<V>& matrix, std::size_t group, std::uint64_t* bitmap,
                             V* numbers) const
{
  static_assert(std::endian::native == std::endian::little, "byte r of a bitmap is row r");
  auto* const rowsOfBitmaps = reinterpret_cast<unsigned char*>(bitmap);
  const std::size_t firstRow = group * tileSide, lastRow = std::min(firstRow + tileSide, matrix.rows);
  for (std::size_t row = firstRow; row < lastRow; ++row) {
    const std::size_t r = row - firstRow;
    unsigned bits = 0;
    std::uint32_t before = ~0u;
    for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i) {
      const std::uint32_t tile = matrix.column[i] / tileSide, c = matrix.column[i] % tileSide;
      const std::size_t slot = slot_[tile];
      bits = (tile == before ? bits : 0) | 1u << c;
      before = tile;
      rowsOfBitmaps[slot * tileSide + r] = static_cast<unsigned char>(bits);
      const V value = matrix.value[i];
      numbers[slot * numbersPerTile + r * tileSide + c] = values == TileValues::asTheyAre ? value
                                                          : values == TileValues::ones    ? V(1)
                                                                                          : V(value != 0);
    }
  }
}

template <class V>
void TileRowBuilder<V>::build(const CsrMatrix<V>& matrix, std::size_t group,
                              std::span<const std::uint32_t> tiles, TileValues values, std::uint32_t* column,
                              std::uint64_t* bitmap, V* numbers)
{
  if (tiles.empty())
    return;
  for (const std::uint32_t tile : tiles)
    seen_.add(tile);
  std::uint32_t next = 0;
  const auto [low, high] = std::minmax_element(tiles.begin(), tiles.end());
  seen_.drain(*low, *high, [&](std::uint32_t tile) {
    slot_[tile] = next;
    column[next++] = tile;
  });
  std::fill_n(bitmap, tiles.size(), 0);
  std::fill_n(numbers, tiles.size() * numbersPerTile, V(0));
  switch (values) {
  case TileValues::asTheyAre:
    return fill<TileValues::asTheyAre>(matrix, group, bitmap, numbers);
  case TileValues::ones:
    return fill<TileValues::ones>(matrix, group, bitmap, numbers);
  case TileValues::oneIfNotZero:
    return fill<TileValues::oneIfNotZero>(matrix, group, bitmap, numbers);
  }
}

template <class V>
TileRow<V> TileRowBuilder<V>::build(const CsrMatrix<V>& matrix, std::size_t group,
                                    std::span<const std::uint32_t> tiles, TileValues values)
{
  const std::size_t count = tiles.size();
  if (column_.size() < count) {
    column_.resize(count);
    bitmap_.resize(count);
    numbers_ = Array<V>(count * numbersPerTile);
  }
  build(matrix, group, tiles, values, column_.data(), bitmap_.data(), numbers_.data());
  return {count, column_.data(), bitmap_.data(), numbers_.data()};
}

template <class V>
TileMatrix<V> tilesOf(const Context& context, const CsrMatrix<V>& matrix, const TileLists& lists,
                      const std::vector<std::uint8_t>& wanted, TileValues values)
{
  TileMatrix<V> tiles;
  const std::size_t tileRows = lists.groups();
  tiles.rowStart.resize(tileRows + 1);
  for (std::size_t row = 0; row < tileRows; ++row)
    tiles.rowStart[row + 1] = tiles.rowStart[row] + (wanted[row] ? lists.count(row) : 0);
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
      if (start == end)
        continue;
      builder->build(matrix, row, lists.columns(row), values, tiles.column.data() + start,
                     tiles.bitmap.data() + start, tiles.numbers.data() + start * numbersPerTile);
      for (std::uint64_t tile = start; tile < end; ++tile)
        tiles.rowMask[tile] = rowMaskOf(tiles.bitmap[tile]);
    }
    workspaces.giveBack(std::move(builder));
  });
  return tiles;
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(TileRowBuilder);
TESSERA_INSTANTIATE_FOR_NUMBERS(tilesOf<V>);

}
