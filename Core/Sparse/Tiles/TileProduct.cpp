#include "Core/Sparse/Tiles/TileProduct.h"

#include "Core/Sparse/Tiles/TileVectors.h"

#include <algorithm>
#include <bit>
#include <type_traits>

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
  const V* next;             // the row of tiles of B that is needed next; it is prefetched
  std::size_t countOfNext;
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

template <class V>
struct TileKernel {
  /// Adds the products of a tile of A with each tile in a row of tiles of B.
  TESSERA_MULTIVERSION_TO_V4 static void addPairs(const TilePairs<V>& pairs)
  {
    const std::uint64_t bitmapOfA = pairs.bitmapOfA;
    const unsigned columns = columnMaskOf(bitmapOfA);
    const bool upper = (bitmapOfA & 0xffffffff) != 0, lower = (bitmapOfA >> 32) != 0;
    for (std::size_t i = 0; i < pairs.count; ++i) {
      if (i < pairs.countOfNext)
#pragma GCC unroll 8
        for (unsigned r = 0; r < tileSide; ++r)
          __builtin_prefetch(pairs.next + i * numbersPerTile + r * tileSide);
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
    : b_(b), seen_(columns / tileSide + 1)
{
  for (Sums& sums : sums_)
    sums.slot.resize(columns / tileSide + 1);
}

/// Finds the tiles that a row of tiles of C has and sets their sums to 0.
template <class V>
void TileProduct<V>::findTiles(const TileRow<V>& a, Sums& sums)
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
  sums.column.clear();
  const std::uint32_t* wanted = a.wanted ? a.wanted->data() : nullptr;
  if (low <= high)
    seen_.drain(low, high, [&](std::uint32_t tile) {
      if (a.wanted) {
        wanted = std::find_if(wanted, a.wanted->data() + a.wanted->size(),
                              [&](std::uint32_t one) { return one >= tile; });
        sums.slot[tile] = none;
        if (wanted == a.wanted->data() + a.wanted->size() || *wanted != tile)
          return;
      }
      sums.slot[tile] = static_cast<std::uint32_t>(sums.column.size());
      sums.column.push_back(tile);
    });
  const std::size_t numbers = sums.column.size() * numbersPerTile;
  sums.bitmap.assign(sums.column.size(), 0);
  if (sums.numbers.size() < numbers)
    sums.numbers = Array<V>(numbers);
  std::fill_n(sums.numbers.data(), numbers, V(0));
}

template <class V>
void TileProduct<V>::compute(std::span<const TileRow<V>> a)
{
  for (std::size_t group = 0; group < a.size(); ++group)
    findTiles(a[group], sums_[group]);
  std::array<std::size_t, groupsAtOnce> next{};
  // Returns the first row of tiles of B that some group still needs.
  const auto firstNeeded = [&] {
    std::uint32_t k = none;
    for (std::size_t group = 0; group < a.size(); ++group)
      if (next[group] < a[group].count)
        k = std::min(k, a[group].column[next[group]]);
    return k;
  };
  for (std::uint32_t k = firstNeeded(); k != none;) {
    std::array<bool, groupsAtOnce> takesPart{};
    for (std::size_t group = 0; group < a.size(); ++group) {
      takesPart[group] = next[group] < a[group].count && a[group].column[next[group]] == k;
      next[group] += takesPart[group];
    }
    const std::uint32_t following = firstNeeded();
    const std::uint64_t first = b_.rowStart[k], count = b_.rowStart[k + 1] - first;
    const std::uint64_t fetch = following == none ? 0 : b_.rowStart[following];
    std::uint64_t fetchCount = following == none ? 0 : b_.rowStart[following + 1] - fetch;
    if (products_.size() < count)
      products_.resize(count);
    for (std::size_t group = 0; group < a.size(); ++group) {
      if (!takesPart[group])
        continue;
      const std::size_t t = next[group] - 1;
      Sums& sums = sums_[group];
      multiplyPatterns(a[group].bitmap[t], b_.bitmap.data() + first, count, products_.data());
      TileKernel<V>::addPairs({a[group].bitmap[t], a[group].numbers + t * numbersPerTile, count,
                               b_.column.data() + first, products_.data(), b_.rowMask.data() + first,
                               b_.numbers.data() + first * numbersPerTile, sums.slot.data(),
                               sums.bitmap.data(), sums.numbers.data(),
                               b_.numbers.data() + fetch * numbersPerTile, fetchCount});
      fetchCount = 0; // only the first group prefetches
    }
    k = following;
  }
}

template <class V>
std::size_t TileProduct<V>::emitRow(std::size_t group, unsigned r, std::uint32_t* column, V* value) const
{
  const Sums& sums = sums_[group];
  using Bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
  return packTileRow(r, sums.column.size(), sums.column.data(), sums.bitmap.data(),
                     reinterpret_cast<const Bits*>(sums.numbers.data()), column,
                     reinterpret_cast<Bits*>(value));
}

template <class V>
void TileProduct<V>::gatherRow(std::size_t group, unsigned r, const std::uint32_t* column, std::size_t count,
                               V* value) const
{
  const Sums& sums = sums_[group];
  for (std::size_t i = 0; i < count; ++i)
    value[i] =
        sums.numbers[sums.slot[column[i] / tileSide] * numbersPerTile + r * tileSide + column[i] % tileSide];
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(TileProduct);

}
