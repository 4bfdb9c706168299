// needs: Sparse
#include "Core/Sparse/Analysis/Reordering.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

#include <numeric>

namespace tessera {
namespace {

using namespace testing;

/// A matrix as finite elements give it: `side`^3 nodes, each with its 26 neighbours, and `unknowns` at each
/// node.
template <class V>
CsrMatrix<V> elementsOfCube(std::uint32_t side, std::uint32_t unknowns)
{
  Dice dice(3);
  EntryMap<V> entries;
  const auto at = [side](std::uint32_t node, std::uint32_t axis) {
    return axis == 0 ? node % side : axis == 1 ? node / side % side : node / side / side;
  };
  const std::uint32_t nodes = side * side * side;
  for (std::uint32_t a = 0; a < nodes; ++a)
    for (std::uint32_t b = 0; b < nodes; ++b) {
      bool areNear = true;
      for (std::uint32_t axis = 0; axis < 3; ++axis)
        areNear &= at(a, axis) + 1 >= at(b, axis) && at(b, axis) + 1 >= at(a, axis);
      for (std::uint32_t i = 0; areNear && i < unknowns * unknowns; ++i)
        entries[{a * unknowns + i / unknowns, b * unknowns + i % unknowns}] = smallWhole<V>(dice);
    }
  return matrixOf(nodes * unknowns, nodes * unknowns, entries);
}

Numbering shuffled(std::size_t rows, std::uint64_t seed)
{
  Numbering numbering;
  numbering.oldOfNew.resize(rows);
  numbering.newOfOld.resize(rows);
  std::iota(numbering.oldOfNew.begin(), numbering.oldOfNew.end(), 0u);
  Dice dice(seed);
  for (std::size_t i = rows; i > 1; --i)
    std::swap(numbering.oldOfNew[i - 1], numbering.oldOfNew[dice.below(i)]);
  for (std::uint32_t i = 0; i < rows; ++i)
    numbering.newOfOld[numbering.oldOfNew[i]] = i;
  return numbering;
}

TEST(Reordering, RowsAndColumnsGetTheirNumbersAndThereAndBackIsTheMatrix)
{
  const CsrMatrix<double> a = matrixOf<double>(3, 3, {{{0, 0}, 1}, {{0, 2}, 2}, {{2, 0}, -0.0}});
  const Numbering to{{2, 0, 1}, {1, 2, 0}};
  const CsrMatrix<double> renumberedA = renumbered(Context{}, a, to.oldOfNew, to.newOfOld);
  expectSame(renumberedA, matrixOf<double>(3, 3, {{{0, 1}, -0.0}, {{1, 0}, 2}, {{1, 1}, 1}}));
  expectSame(renumbered(Context{}, renumberedA, to.newOfOld, to.oldOfNew), a);
}

TEST(Reordering, AShuffledMatrixOfElementsIsFoundAgain)
{
  const CsrMatrix<double> natural = elementsOfCube<double>(9, 3);
  const Numbering random = shuffled(natural.rows, 5);
  const CsrMatrix<double> a = renumbered(Context{}, natural, random.oldOfNew, random.newOfOld);
  CsrMatrix<double> asGiven, reordered;
  const Reordering ofNatural = reorderForTiles(Context{}, natural, false, asGiven),
                   found = reorderForTiles(Context{}, a, false, reordered);
  EXPECT_EQ(ofNatural.choice, "the rows keep their numbers: tiles are full enough");
  EXPECT_EQ(ofNatural.perPairBefore, 0); // some rows suffice to see it
  ASSERT_TRUE(found.numbering.has_value()) << found.choice;
  EXPECT_EQ(found.nodes, 729u);
  EXPECT_LT(found.perPairBefore, 1);
  EXPECT_GT(found.perPairAfter, 0.75 * reorderForTiles(Context{}, natural, true, asGiven).perPairBefore);
  expectSame(renumbered(Context{}, reordered, found.numbering->newOfOld, found.numbering->oldOfNew), a);
}

TEST(Reordering, AShuffledBandWithoutEqualRowsIsFoundAgain)
{
  EntryMap<double> entries;
  Dice dice(7);
  for (std::uint32_t i = 0; i < 800; ++i)
    for (std::uint32_t j = i; j < std::min<std::uint32_t>(800, i + 30); ++j)
      if (j < i + 24 || dice.below(2) == 0)
        entries[{i, j}] = entries[{j, i}] = 1;
  const CsrMatrix<double> band = matrixOf(800, 800, entries);
  const Numbering random = shuffled(band.rows, 8);
  const CsrMatrix<double> a = renumbered(Context{}, band, random.oldOfNew, random.newOfOld);
  CsrMatrix<double> reordered;
  const Reordering found = reorderForTiles(Context{}, a, false, reordered);
  ASSERT_TRUE(found.numbering.has_value()) << found.choice;
  EXPECT_GT(found.nodes, 790u);
  EXPECT_GT(found.perPairAfter, 100);
}

TEST(Reordering, TheProductOfIntegersIsTheSameForAnyNumberOfThreads)
{
  const CsrMatrix<std::int64_t> natural = elementsOfCube<std::int64_t>(5, 3);
  const Numbering random = shuffled(natural.rows, 6);
  const CsrMatrix<std::int64_t> a = renumbered(Context{}, natural, random.oldOfNew, random.newOfOld);
  for (const int threads : {1, 3}) {
    const Context context{{}, threads};
    CsrMatrix<std::int64_t> reordered;
    const Reordering found = reorderForTiles(context, a, true, reordered);
    expectSame(renumbered(context, multiply(context, reordered, reordered), found.numbering->newOfOld,
                          found.numbering->oldOfNew),
               multiply(context, a, a));
  }
}

TEST(Reordering, PartsEmptyRowsAndStarsAreNumberedOnce)
{
  EntryMap<double> entries; // rows 0 to 19: a star about 7; 20 to 29: a path; 30 to 39: empty
  for (std::uint32_t i = 0; i < 20; ++i)
    entries[{7, i}] = entries[{i, 7}] = entries[{i, i}] = 1;
  for (std::uint32_t i = 20; i < 29; ++i)
    entries[{i, i + 1}] = entries[{i + 1, i}] = 1;
  const CsrMatrix<double> a = matrixOf(40, 40, entries);
  CsrMatrix<double> reordered;
  const Reordering found = reorderForTiles(Context{}, a, true, reordered);
  ASSERT_TRUE(found.numbering.has_value());
  std::vector<std::uint32_t> sorted = found.numbering->oldOfNew;
  std::ranges::sort(sorted);
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(sorted[i], i);
    EXPECT_EQ(found.numbering->oldOfNew[found.numbering->newOfOld[i]], i);
  }
  expectSame(renumbered(Context{}, reordered, found.numbering->newOfOld, found.numbering->oldOfNew), a);
  EXPECT_EQ(reorderForTiles(Context{}, a, false, reordered).choice,
            "the rows keep their numbers: few rows are alike");
  EXPECT_FALSE(reorderForTiles(Context{}, emptyMatrix<double>(0, 0), false, reordered).numbering.has_value());
}

}
}
