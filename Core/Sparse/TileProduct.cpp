#include "Core/Sparse/TileProduct.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tessera {
namespace {

constexpr std::size_t numbersPerTile = tileSide * tileSide;
constexpr std::uint64_t firstColumn = 0x0101010101010101; // bit 0 of each row

template <class V>
using Row [[gnu::vector_size(tileSide * sizeof(V)), gnu::may_alias]] = V;

std::uint8_t columnMaskOf(std::uint64_t bitmap)
{
  bitmap |= bitmap >> 32;
  bitmap |= bitmap >> 16;
  return static_cast<std::uint8_t>(bitmap | bitmap >> 8);
}

/// What the kernel reads and writes of one pair of a tile of A and a row of tiles of B.
template <class V>
struct TilePairs {
  std::uint64_t bitmapOfA;
  const V* a;                  // (8 rows, 8 columns)
  std::size_t count;           // tiles in the row of B
  const std::uint32_t* column; // of each
  const std::uint64_t* bitmap;
  const std::uint8_t* rowMask;
  const V* b;                // (count, 8, 8)
  const std::uint32_t* slot; // by column
  std::uint64_t* bitmapOfC;  // by slot
  V* c;                      // (slots, 8, 8)
};

/// Four rows of C += A B over those k that `live` names. Sums stay in registers.
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
  /// Adds a tile of A times each tile of a row of B.
  TESSERA_MULTIVERSION_TO_V4 static void addPairs(const TilePairs<V>& pairs)
  {
    const std::uint64_t bitmapOfA = pairs.bitmapOfA;
    const unsigned columns = columnMaskOf(bitmapOfA);
    const bool upper = (bitmapOfA & 0xffffffff) != 0, lower = (bitmapOfA >> 32) != 0;
    std::uint64_t rowsWith[tileSide]; // byte r is full if A has (r, k)
    for (unsigned k = 0; k < tileSide; ++k)
      rowsWith[k] = (bitmapOfA >> k & firstColumn) * 0xff;
    for (std::size_t i = 0; i < pairs.count; ++i) {
      const unsigned live = columns & pairs.rowMask[i];
      if (live == 0)
        continue;
      const std::size_t slot = pairs.slot[pairs.column[i]];
      const std::uint64_t bitmapOfB = pairs.bitmap[i];
      std::uint64_t bitmap = 0;
#pragma GCC unroll 8
      for (unsigned k = 0; k < tileSide; ++k)
        bitmap |= rowsWith[k] & (bitmapOfB >> (8 * k) & 0xff) * firstColumn;
      pairs.bitmapOfC[slot] |= bitmap;
      const V* const b = pairs.b + i * numbersPerTile;
      V* const c = pairs.c + slot * numbersPerTile;
      if (upper)
        addFourRows<V, 0>(pairs.a, b, live, c);
      if (lower)
        addFourRows<V, 4>(pairs.a, b, live, c);
    }
  }

  /// Writes row r of a row of tiles without gaps.
  TESSERA_MULTIVERSION_TO_V4 static std::size_t emitRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                                                        const std::uint64_t* bitmap, const V* sums, std::uint32_t* column, V* value)
  {
    std::size_t at = 0;
    for (std::size_t tile = 0; tile < count; ++tile) {
      unsigned bits = bitmap[tile] >> (8 * r) & 0xff;
      const std::uint32_t first = tileColumn[tile] * tileSide;
      const V* const row = sums + tile * numbersPerTile + r * tileSide;
      if (bits == 0xff) {
        for (unsigned c = 0; c < tileSide; ++c)
          column[at + c] = first + c;
        std::memcpy(value + at, row, tileSide * sizeof(V));
        at += tileSide;
        continue;
      }
      for (; bits != 0; bits &= bits - 1) {
        const auto c = static_cast<unsigned>(std::countr_zero(bits));
        column[at] = first + c;
        value[at++] = row[c];
      }
    }
    return at;
  }
};

}

template <class V>
TileProduct<V>::TileProduct(const TileMatrix<V>& b, std::size_t columns) : b_(b), seen_(columns / tileSide + 1)
{
  for (Sums& sums : sums_)
    sums.slot.resize(columns / tileSide + 1);
}

/// The tiles that C has in this row of tiles, with sums of zero.
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
    for (std::uint64_t i = first; i < last; ++i)
      if (columns & b_.rowMask[i])
        seen_.add(b_.column[i]);
  }
  sums.column.clear();
  if (low <= high)
    seen_.drain(low, high, [&](std::uint32_t tile) {
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
  while (true) {
    std::uint32_t k = ~0u; // the first row of tiles of B that a group still needs
    for (std::size_t group = 0; group < a.size(); ++group)
      if (next[group] < a[group].count)
        k = std::min(k, a[group].column[next[group]]);
    if (k == ~0u)
      return;
    const std::uint64_t first = b_.rowStart[k], last = b_.rowStart[k + 1];
    for (std::size_t group = 0; group < a.size(); ++group) {
      const std::size_t t = next[group];
      if (t == a[group].count || a[group].column[t] != k)
        continue;
      ++next[group];
      Sums& sums = sums_[group];
      TileKernel<V>::addPairs({a[group].bitmap[t], a[group].numbers + t * numbersPerTile, last - first, b_.column.data() + first,
                               b_.bitmap.data() + first, b_.rowMask.data() + first, b_.numbers.data() + first * numbersPerTile,
                               sums.slot.data(), sums.bitmap.data(), sums.numbers.data()});
    }
  }
}

template <class V>
std::size_t TileProduct<V>::emitRow(std::size_t group, unsigned r, std::uint32_t* column, V* value) const
{
  const Sums& sums = sums_[group];
  return TileKernel<V>::emitRow(r, sums.column.size(), sums.column.data(), sums.bitmap.data(), sums.numbers.data(), column, value);
}

template <class V>
void TileProduct<V>::gatherRow(std::size_t group, unsigned r, const std::uint32_t* column, std::size_t count, V* value) const
{
  const Sums& sums = sums_[group];
  for (std::size_t i = 0; i < count; ++i)
    value[i] = sums.numbers[sums.slot[column[i] / tileSide] * numbersPerTile + r * tileSide + column[i] % tileSide];
}

template class TileProduct<double>;
template class TileProduct<float>;
template class TileProduct<std::int64_t>;

}
