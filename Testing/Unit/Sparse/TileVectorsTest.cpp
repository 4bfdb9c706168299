// needs: Sparse
#include "Core/Sparse/Tiles/TileVectors.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

using namespace tessera;

namespace {

/// Full, empty and anything between.
std::vector<std::uint64_t> patterns(std::size_t count, std::uint64_t seed)
{
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = i % 5 == 0   ? ~std::uint64_t(0)
                : i % 5 == 1 ? 0
                : i % 5 == 2 ? random() & random() & random()
                             : random();
  return result;
}

bool has(std::uint64_t pattern, unsigned row, unsigned column)
{
  return pattern >> (8 * row + column) & 1;
}

template <class Bits>
void expectRowsWithoutGaps(std::size_t tiles)
{
  constexpr std::size_t room = 8;
  const std::vector<std::uint64_t> bitmap = patterns(tiles, 7);
  std::vector<Bits> numbers(tiles * 64);
  std::iota(numbers.begin(), numbers.end(),
            std::is_same_v<Bits, std::uint64_t> ? Bits(1) << (sizeof(Bits) * 8 - 2) : Bits(1));
  std::vector<std::uint32_t> tileColumn(tiles);
  for (std::size_t tile = 0; tile < tiles; ++tile)
    tileColumn[tile] = static_cast<std::uint32_t>(3 * tile + 1);
  for (unsigned r = 0; r < 8; ++r) {
    std::vector<std::uint32_t> expectedColumns;
    std::vector<Bits> expectedNumbers;
    for (std::size_t tile = 0; tile < tiles; ++tile)
      for (unsigned c = 0; c < 8; ++c)
        if (has(bitmap[tile], r, c)) {
          expectedColumns.push_back(8 * tileColumn[tile] + c);
          expectedNumbers.push_back(numbers[64 * tile + 8 * r + c]);
        }
    const std::uint32_t untouched = 0xabcdef;
    std::vector<std::uint32_t> column(expectedColumns.size() + room + 1, untouched);
    std::vector<Bits> value(expectedColumns.size() + room + 1, untouched);

    const std::size_t count =
        packTileRow(r, tiles, tileColumn.data(), bitmap.data(), numbers.data(), column.data(), value.data());

    ASSERT_EQ(count, expectedColumns.size()) << tiles << " tiles, row " << r;
    EXPECT_EQ(column.back(), untouched);
    EXPECT_EQ(value.back(), untouched);
    column.resize(count);
    value.resize(count);
    EXPECT_EQ(column, expectedColumns) << tiles << " tiles, row " << r;
    EXPECT_EQ(value, expectedNumbers) << tiles << " tiles, row " << r;
  }
}

}

TEST(TileVectorsTest, ProductsOfPatternsHaveABitWhereAColumnMeetsARow)
{
  for (const std::uint64_t a : patterns(6, 3))
    for (std::size_t count = 0; count <= 20; ++count) {
      const std::vector<std::uint64_t> b = patterns(count, count);
      std::vector<std::uint64_t> product(count + 1, 0x1234);

      multiplyPatterns(a, b.data(), count, product.data());

      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t expected = 0;
        for (unsigned r = 0; r < 8; ++r)
          for (unsigned c = 0; c < 8; ++c)
            for (unsigned k = 0; k < 8; ++k)
              expected |= std::uint64_t(has(a, r, k) && has(b[i], k, c)) << (8 * r + c);
        ASSERT_EQ(product[i], expected) << "product " << i << " of " << count;
      }
      EXPECT_EQ(product[count], 0x1234u) << "nothing is written behind the last of " << count;
    }
}

TEST(TileVectorsTest, RowsOfTilesHaveNoGapsAndTouchLittleBehindThem)
{
  for (const std::size_t tiles : {0, 1, 2, 3, 8, 33}) {
    expectRowsWithoutGaps<std::uint32_t>(tiles);
    expectRowsWithoutGaps<std::uint64_t>(tiles);
  }
}
