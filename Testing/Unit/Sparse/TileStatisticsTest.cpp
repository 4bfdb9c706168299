// needs: Sparse
#include "Core/Sparse/Analysis/TileStatistics.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tessera {
namespace {

using namespace testing;
using Places = std::set<std::pair<std::size_t, std::size_t>>;
using Tiles = std::map<std::pair<std::size_t, std::size_t>, double>; // with the entries of each

Places placesOf(const MatrixPattern& matrix)
{
  Places places;
  for (std::size_t row = 0; row < matrix.rows; ++row)
    for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i)
      places.insert({row, matrix.column[i]});
  return places;
}

Tiles tilesOf(const Places& places, std::size_t side)
{
  Tiles tiles;
  for (const auto& [row, column] : places)
    ++tiles[{row / side, column / side}];
  return tiles;
}

void expectTiles(const TileStatistics& found, const Tiles& tiles)
{
  std::vector<double> entries;
  double sum = 0, squares = 0;
  for (const auto& [place, count] : tiles) {
    entries.push_back(count);
    sum += count;
    squares += count * count;
  }
  std::ranges::sort(entries);
  const double number = static_cast<double>(entries.size());
  ASSERT_EQ(found.tiles, entries.size());
  EXPECT_EQ(found.median, (entries[(entries.size() - 1) / 2] + entries[entries.size() / 2]) / 2);
  EXPECT_DOUBLE_EQ(found.mean, sum / number);
  EXPECT_NEAR(found.deviation, std::sqrt(squares / number - found.mean * found.mean), 1e-9);
}

TEST(TileStatisticsTest, CountsAsMapsOfTilesDo)
{
  Dice dice(7);
  for (const auto& [rows, inner, columns, entries] :
       {std::array<std::uint32_t, 4>{1100, 70, 45, 2000}, {33, 1030, 17, 900}, {5, 4, 3, 9}}) {
    EntryMap<double> left, right;
    for (std::uint32_t i = 0; i < entries; ++i) {
      left[{static_cast<std::uint32_t>(dice.below(rows)), static_cast<std::uint32_t>(dice.below(inner))}] = 1;
      right[{static_cast<std::uint32_t>(dice.below(inner)),
             static_cast<std::uint32_t>(dice.below(columns))}] = 1;
    }
    const auto a = matrixOf(rows, inner, left), b = matrixOf(inner, columns, right);
    Places product;
    for (const auto& [row, k] : placesOf(a))
      for (std::uint64_t i = b.rowStart[k]; i < b.rowStart[k + 1]; ++i)
        product.insert({row, b.column[i]});
    for (const int threads : {1, 3}) {
      const ProductTiles found = countProductTiles({{}, threads}, a, b);
      for (std::size_t s = 0; s < countedSides.size(); ++s) {
        const Tiles ofA = tilesOf(placesOf(a), countedSides[s]), ofB = tilesOf(placesOf(b), countedSides[s]);
        expectTiles(found.a[s], ofA);
        expectTiles(found.b[s], ofB);
        expectTiles(found.product[s], tilesOf(product, countedSides[s]));
        std::uint64_t pairs = 0;
        for (const auto& [inA, countA] : ofA)
          for (const auto& [inB, countB] : ofB)
            pairs += inA.second == inB.first;
        EXPECT_EQ(found.pairs[s], pairs);
      }
    }
  }
}

TEST(TileStatisticsTest, AMatrixWithoutEntriesHasNoTiles)
{
  const auto none = matrixOf(9, 9, EntryMap<double>());
  const ProductTiles found = countProductTiles({{}, 1}, none, none);
  EXPECT_EQ(found.product[0].tiles, 0u);
  EXPECT_EQ(found.product[0].mean, 0);
  EXPECT_EQ(found.pairs[2], 0u);
}

}
}
