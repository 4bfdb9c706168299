#include "Core/Sparse/Tiles/TileProduct.h"

#include "Core/Sparse/Tiles/TilePattern.h"

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

constexpr std::uint32_t none = ~0u;

template <class V>
using Row [[gnu::vector_size(tileSide * sizeof(V)), gnu::may_alias]] = V;

std::uint8_t columnMaskOf(std::uint64_t bitmap)
{
  bitmap |= bitmap >> 32;
  bitmap |= bitmap >> 16;
  return static_cast<std::uint8_t>(bitmap | bitmap >> 8);
}

/// The operands and results of multiplying a tile of A with each tile in a row of tiles of B.
template <class V>
struct TilePairs {
  std::uint64_t bitmapOfA;
  const V* a;                   // 8 x 8, row by row
  std::size_t count;            // number of tiles in the row of B
  const std::uint32_t* column;  // column of each tile of B
  const std::uint64_t* product; // pattern of each product
  const std::uint8_t* rowMask;
  const V* b;                // (count, 8, 8)
  const std::uint32_t* slot; // for each column of tiles: the tile of C, or none
  std::uint64_t* bitmapOfC;  // for each tile of C
  V* c;                      // (tiles of C, 8, 8)
};

/// Adds the product of a row of A's tile with B's tile to four rows of C, for the k whose bits are set in
/// `live`. The sums stay in registers.
template <class V, int FirstRow>
TESSERA_ALWAYS_INLINE void addFourRows(const V* a, const V* b, unsigned live, V* c)
{
  Row<V>* const rows = reinterpret_cast<Row<V>*>(c) + FirstRow;
  const Row<V>* const rowsOfB = reinterpret_cast<const Row<V>*>(b);
  Row<V> c0 = rows[0], c1 = rows[1], c2 = rows[2], c3 = rows[3];
  const auto add = [&](unsigned k) __attribute__((always_inline))
  {
    const V* const column = a + FirstRow * tileSide + k;
    const Row<V> row = rowsOfB[k];
    c0 += column[0] * row;
    c1 += column[8] * row;
    c2 += column[16] * row;
    c3 += column[24] * row;
  };
  if (live == 0xff) {
#pragma GCC unroll 8
    for (unsigned k = 0; k < tileSide; ++k)
      add(k);
  } else {
    for (; live != 0; live &= live - 1)
      add(static_cast<unsigned>(std::countr_zero(live)));
  }
  rows[0] = c0;
  rows[1] = c1;
  rows[2] = c2;
  rows[3] = c3;
}

/// Sets products[i] to the pattern of the product of two tiles, for `count` tiles of B.
TESSERA_MULTIVERSION_TO_V4 void multiplyAll(std::uint64_t a, const std::uint64_t* b, std::size_t count,
                                            std::uint64_t* products)
{
  for (std::size_t i = 0; i < count; ++i)
    products[i] = multiplyPatterns(a, b[i]);
}

template <class V>
struct TileKernel {
  /// Adds the products of a tile of A with each tile in a row of tiles of B.
  TESSERA_MULTIVERSION_TO_V4 static void addPairs(const TilePairs<V>& pairs)
  {
    const std::uint64_t bitmapOfA = pairs.bitmapOfA;
    const unsigned columns = columnMaskOf(bitmapOfA);
    const bool upper = (bitmapOfA & 0xffffffff) != 0, lower = (bitmapOfA >> 32) != 0;
    for (std::size_t i = 0; i < pairs.count; ++i) {
      const unsigned live = columns & pairs.rowMask[i];
      if (live == 0)
        continue;
      const std::uint32_t slot = pairs.slot[pairs.column[i]];
      if (slot == none)
        continue;
      pairs.bitmapOfC[slot] |= pairs.product[i];
      const V* const b = pairs.b + i * numbersPerTile;
      V* const c = pairs.c + std::size_t{slot} * numbersPerTile;
      if (upper)
        addFourRows<V, 0>(pairs.a, b, live, c);
      if (lower)
        addFourRows<V, 4>(pairs.a, b, live, c);
    }
  }
};

}

template <class V>
TileProduct<V>::TileProduct(const TileMatrix<V>& b, std::size_t columns)
    : b_(b), seen_(columns / tileSide + 1), slot_(columns / tileSide + 1)
{
}

/// Finds the tiles that a row of tiles of C has and sets their sums to 0.
template <class V>
void TileProduct<V>::findTiles(const TileRow<V>& a)
{
  std::uint32_t low = ~0u, high = 0;
  for (std::size_t t = 0; t < a.count; ++t) {
    const std::uint64_t first = b_.rowStart[a.column[t]], last = b_.rowStart[a.column[t] + 1];
    if (first == last)
      continue;
    const std::uint8_t columns = columnMaskOf(a.bitmap[t]);
    low = std::min(low, b_.column[first]);
    high = std::max(high, b_.column[last - 1]);
    // The columns rise, so the bits of 64 columns are collected before they are written.
    std::size_t word = b_.column[first] / 64;
    std::uint64_t bits = 0;
    for (std::uint64_t i = first; i < last; ++i) {
      const std::uint32_t column = b_.column[i];
      if (column / 64 != word) {
        seen_.addWord(word, bits);
        word = column / 64;
        bits = 0;
      }
      bits |= std::uint64_t((columns & b_.rowMask[i]) != 0) << column % 64;
    }
    seen_.addWord(word, bits);
  }
  column_.clear();
  const std::uint32_t* wanted = a.wanted ? a.wanted->data() : nullptr;
  if (low <= high)
    seen_.drain(low, high, [&](std::uint32_t tile) {
      if (a.wanted) {
        wanted = std::find_if(wanted, a.wanted->data() + a.wanted->size(),
                              [&](std::uint32_t one) { return one >= tile; });
        slot_[tile] = none;
        if (wanted == a.wanted->data() + a.wanted->size() || *wanted != tile)
          return;
      }
      slot_[tile] = static_cast<std::uint32_t>(column_.size());
      column_.push_back(tile);
    });
  const std::size_t numbers = column_.size() * numbersPerTile;
  bitmap_.assign(column_.size(), 0);
  if (numbers_.size() < numbers)
    numbers_ = Array<V>(numbers);
  std::fill_n(numbers_.data(), numbers, V(0));
}

template <class V>
void TileProduct<V>::compute(const TileRow<V>& a)
{
  findTiles(a);
  for (std::size_t t = 0; t < a.count; ++t) {
    const std::uint64_t first = b_.rowStart[a.column[t]];
    const std::size_t count = b_.rowStart[a.column[t] + 1] - first;
    if (products_.size() < count)
      products_.resize(count);
    multiplyAll(a.bitmap[t], b_.bitmap.data() + first, count, products_.data());
    TileKernel<V>::addPairs({a.bitmap[t], a.numbers + t * numbersPerTile, count, b_.column.data() + first,
                             products_.data(), b_.rowMask.data() + first,
                             b_.numbers.data() + first * numbersPerTile, slot_.data(), bitmap_.data(),
                             numbers_.data()});
  }
}

template <class V>
std::size_t TileProduct<V>::emitRow(unsigned r, std::uint32_t* column, V* value) const
{
  std::size_t at = 0;
  for (std::size_t tile = 0; tile < column_.size(); ++tile) {
    unsigned bits = bitmap_[tile] >> (8 * r) & 0xff;
    const auto first = static_cast<std::uint32_t>(column_[tile] * tileSide);
    const V* const row = numbers_.data() + tile * numbersPerTile + r * tileSide;
    if (bits == 0xff) {
      for (unsigned c = 0; c < tileSide; ++c)
        column[at + c] = first + c;
      std::copy_n(row, tileSide, value + at);
      at += tileSide;
    } else {
      for (; bits != 0; bits &= bits - 1) {
        const auto c = static_cast<unsigned>(std::countr_zero(bits));
        column[at] = first + c;
        value[at++] = row[c];
      }
    }
  }
  return at;
}

template <class V>
void TileProduct<V>::gatherRow(unsigned r, const std::uint32_t* column, std::size_t count, V* value) const
{
  for (std::size_t i = 0; i < count; ++i)
    value[i] = numbers_[slot_[column[i] / tileSide] * numbersPerTile + r * tileSide + column[i] % tileSide];
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(TileProduct);

}
