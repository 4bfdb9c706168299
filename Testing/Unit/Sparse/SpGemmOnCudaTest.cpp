// needs: Sparse; needs: GPU
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/SpGemmOnGpu.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

constexpr SpGemmAlgorithm everyAlgorithm[] = {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles,
                                              SpGemmAlgorithm::automatic};

class SpGemmOnCudaTest : public SpGemmOnGpu {
protected:
  template <class V>
  CsrMatrix<V> product(const CsrMatrix<V>& a, const CsrMatrix<V>& b, SpGemmAlgorithm algorithm,
                       Semiring semiring = Semiring::plusTimes)
  {
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    options.semiring = semiring;
    const CsrOnCuda<V> onCudaA = broughtToCuda(context, a, "A");
    if (a.isSame(b))
      return broughtToHost(context, spGemm->multiply(onCudaA, onCudaA, options, &report));
    return broughtToHost(context,
                         spGemm->multiply(onCudaA, broughtToCuda(context, b, "B"), options, &report));
  }

  /// Products of whole numbers: the same bits as the plain product.
  template <class V>
  void expectExact(const CsrMatrix<V>& a, const CsrMatrix<V>& b, const std::string& what)
  {
    SCOPED_TRACE(what);
    const CsrMatrix<V> expected = plainProduct(a, b);
    for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
      if (std::is_same_v<V, std::int64_t> && algorithm == SpGemmAlgorithm::tiles)
        continue;
      SCOPED_TRACE("algorithm " + std::to_string(static_cast<int>(algorithm)));
      expectSame(product(a, b, algorithm), expected);
    }
  }
  void expectExactInEachType(std::size_t rows, std::size_t inner, std::size_t columns, double perRowA,
                             double perRowB, std::uint64_t seed)
  {
    const std::string what =
        std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(columns);
    expectExact(wholeMatrix<float>(rows, inner, perRowA, seed),
                wholeMatrix<float>(inner, columns, perRowB, seed + 1), what);
    expectExact(wholeMatrix<double>(rows, inner, perRowA, seed),
                wholeMatrix<double>(inner, columns, perRowB, seed + 1), what);
    expectExact(wholeMatrix<std::int64_t>(rows, inner, perRowA, seed),
                wholeMatrix<std::int64_t>(inner, columns, perRowB, seed + 1), what);
  }
};

TEST_F(SpGemmOnCudaTest, ThreeByThreeByHand)
{
  const CsrMatrix<double> a = matrixOf<double>(3, 3, {{{0, 0}, 1}, {{0, 2}, 2}, {{1, 1}, -3}, {{2, 0}, 4}});
  const CsrMatrix<double> expected =
      matrixOf<double>(3, 3, {{{0, 0}, 9}, {{0, 2}, 2}, {{1, 1}, 9}, {{2, 0}, 4}, {{2, 2}, 8}});

  for (const SpGemmAlgorithm algorithm : everyAlgorithm)
    expectSame(product(a, a, algorithm), expected);
  EXPECT_EQ(report.products, 6u); // 2 + 1 in row 0, 1 in row 1, 2 in row 2
}

TEST_F(SpGemmOnCudaTest, MatchesThePlainProductAtAwkwardShapes)
{
  expectExactInEachType(1, 1, 1, 1, 1, 1);
  expectExactInEachType(7, 9, 5, 3, 2, 2);
  expectExactInEachType(8, 8, 8, 8, 8, 3);
  expectExactInEachType(63, 65, 17, 5, 4, 4);
  expectExactInEachType(130, 40, 257, 6, 30, 5);
  expectExactInEachType(301, 299, 303, 2, 1, 6); // many empty rows
}

TEST_F(SpGemmOnCudaTest, MatrixTimesItselfAndTimesItsCopyAreEqual)
{
  const CsrMatrix<double> a = wholeMatrix<double>(203, 203, 12, 7);
  CsrMatrix<double> copy = a;
  copy.column = Array<std::uint32_t>(a.column.toVector());

  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    const CsrMatrix<double> squared = product(a, a, algorithm);
    expectSame(squared, plainProduct(a, a));
    expectSame(product(a, copy, algorithm), squared);
  }
}

TEST_F(SpGemmOnCudaTest, EmptyMatricesHaveEmptyProducts)
{
  const auto empty = [](std::size_t rows, std::size_t columns) {
    return matrixOf<double>(rows, columns, {});
  };

  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    expectSame(product(empty(0, 4), empty(4, 3), algorithm), empty(0, 3));
    expectSame(product(empty(5, 0), empty(0, 3), algorithm), empty(5, 3));
    expectSame(product(empty(5, 4), empty(4, 0), algorithm), empty(5, 0));
    expectSame(product(empty(9, 4), wholeMatrix<double>(4, 7, 3, 8), algorithm), empty(9, 7));
    const CsrMatrix<double> left = matrixOf<double>(9, 20, {{{3, 2}, 1.0}}),
                            right = matrixOf<double>(20, 9, {{{17, 2}, 1.0}});
    expectSame(product(left, right, algorithm), empty(9, 9)); // entries that do not meet
  }
}

TEST_F(SpGemmOnCudaTest, DenseRowAndDenseColumn)
{
  EntryMap<double> entries;
  Dice dice(9);
  for (std::uint32_t i = 0; i < 1500; ++i) {
    entries[{700, i}] = smallWhole<double>(dice);
    entries[{i, 33}] = smallWhole<double>(dice);
    entries[{i, i}] = smallWhole<double>(dice);
  }
  expectExact(matrixOf(1500, 1500, entries), matrixOf(1500, 1500, entries), "arrow");
}

TEST_F(SpGemmOnCudaTest, ExactCancellationKeepsStructuralZeros)
{
  const CsrMatrix<float> a =
      randomMatrix<float>(120, 90, 9, 10, [](Dice& dice) { return dice.below(2) == 1 ? 1.0f : -1.0f; });
  const CsrMatrix<float> b =
      randomMatrix<float>(90, 70, 9, 11, [](Dice& dice) { return dice.below(2) == 1 ? 1.0f : -1.0f; });
  const CsrMatrix<float> expected = plainProduct(a, b);
  ASSERT_GT(std::count(expected.value.begin(), expected.value.end(), 0.0f), 100)
      << "the case does not test what it should";

  for (const SpGemmAlgorithm algorithm : everyAlgorithm)
    expectSame(product(a, b, algorithm), expected);
}

/// Row i of A has entries[i] entries, each meets a row of B with `perRow` entries.
template <class V>
CsrMatrix<V> rowsOfLengths(const std::vector<std::size_t>& lengths, std::size_t columns, std::uint64_t seed)
{
  Dice dice(seed);
  EntryMap<V> entries;
  for (std::size_t row = 0; row < lengths.size(); ++row)
    for (std::size_t i = 0; i < lengths[row]; ++i)
      entries[{static_cast<std::uint32_t>(row),
               static_cast<std::uint32_t>((i * 37 + dice.below(37)) % columns)}] = smallWhole<V>(dice);
  return matrixOf(lengths.size(), columns, entries);
}

TEST_F(SpGemmOnCudaTest, RowsOfEverySizeOfEveryBin)
{
  const std::vector<std::size_t> lengths = {0,   1,   2,   3,   4,   5,   7,   8,   9,   15,  16,  17,
                                            24,  31,  32,  33,  40,  63,  64,  65,  100, 127, 128, 129,
                                            200, 255, 256, 257, 300, 400, 511, 512, 513, 700, 0,   1};
  for (const double perRow : {1.0, 2.0, 4.0, 11.0})
    for (const std::size_t columns : {600, 5000}) {
      SCOPED_TRACE(std::to_string(perRow) + " entries a row of B, " + std::to_string(columns) + " columns");
      expectExact(rowsOfLengths<float>(lengths, 20000, 12), wholeMatrix<float>(20000, columns, perRow, 13),
                  "float");
      expectExact(rowsOfLengths<double>(lengths, 20000, 12), wholeMatrix<double>(20000, columns, perRow, 13),
                  "double");
    }
}

TEST_F(SpGemmOnCudaTest, RowsOfMoreEntriesThanABlockSumsAtOnce)
{
  const CsrMatrix<double> a = rowsOfLengths<double>({30, 2, 500, 64}, 500, 14),
                          b = wholeMatrix<double>(500, 40000, 900, 15);
  expectSame(product(a, b, SpGemmAlgorithm::rows), plainProduct(a, b));
  EXPECT_EQ(report.tileGroups, 0u);
}

TEST_F(SpGemmOnCudaTest, VeryWideMatricesOfFewEntries)
{
  const CsrMatrix<float> a = rowsOfLengths<float>({3, 300, 0, 40, 900, 1, 120}, 1000, 16);
  for (const std::size_t columns : {std::size_t{1100000}, std::size_t{60000000}, largestColumnsOnCuda})
    for (const double perRow : {1.5, 6.0}) {
      SCOPED_TRACE(std::to_string(columns) + " columns");
      const CsrMatrix<float> b = randomMatrix<float>(1000, columns, perRow, 17, smallWhole<float>);
      expectSame(product(a, b, SpGemmAlgorithm::rows), plainProduct(a, b));
    }
}

TEST_F(SpGemmOnCudaTest, LastColumnOfTheWidestMatrix)
{
  const auto last = static_cast<std::uint32_t>(largestColumnsOnCuda - 1);
  EntryMap<float> entries;
  for (std::uint32_t k = 0; k < 200; ++k)
    for (std::uint32_t j = 0; j < 30; ++j)
      entries[{k, last - 17 * (k % 7) - 1000 * j}] = static_cast<float>(k + j);
  const CsrMatrix<float> b = matrixOf(200, largestColumnsOnCuda, entries),
                         a = rowsOfLengths<float>({200, 2, 20}, 200, 18);

  for (const SpGemmAlgorithm algorithm : everyAlgorithm)
    expectSame(product(a, b, algorithm), plainProduct(a, b));
}

TEST_F(SpGemmOnCudaTest, TileRowsOfManyTiles)
{
  expectExact(wholeMatrix<double>(11, 2000, 400, 19), wholeMatrix<double>(2000, 60, 3, 20),
              "more than 32 tiles of A");
  expectExact(wholeMatrix<double>(20, 50, 9, 21), wholeMatrix<double>(50, 9000, 200, 22),
              "more than 128 tiles of C");
  expectExact(wholeMatrix<float>(13, 300, 50, 23), wholeMatrix<float>(300, 600000, 20, 24),
              "more than one window of columns");
}

TEST_F(SpGemmOnCudaTest, MoreTilesInARowThanCanBeNumberedGoByRows)
{
  for (const std::uint32_t tiles : {maxTilesOfRowOnCuda, maxTilesOfRowOnCuda + 1}) {
    EntryMap<double> entries;
    for (std::uint32_t tile = 0; tile < tiles; ++tile)
      entries[{tile % 3, 8 * tile + tile % 8}] = 1 + tile % 5;
    const CsrMatrix<double> b = matrixOf(3, std::size_t{8} * tiles, entries),
                            a = matrixOf<double>(2, 3, {{{0, 0}, 2}, {{0, 2}, 1}, {{1, 1}, 3}});

    expectSame(product(a, b, SpGemmAlgorithm::automatic), plainProduct(a, b));
    if (tiles == maxTilesOfRowOnCuda)
      expectSame(product(a, b, SpGemmAlgorithm::tiles), plainProduct(a, b));
    else
      EXPECT_NE(testing::messageOf([&] { product(a, b, SpGemmAlgorithm::tiles); }).find("more than 65535"),
                std::string::npos);
  }
}

TEST_F(SpGemmOnCudaTest, DenseGroupsGoByTilesAndScatteredOnesByRows)
{
  Dice dice(25);
  EntryMap<double> entries;
  for (std::uint32_t i = 0; i < 800; ++i)
    for (std::uint32_t j = 0; j < 60; ++j)
      if (i < 400)
        entries[{i, (i / 8 * 8 + j) % 800}] = smallWhole<double>(dice);
      else if (j < 4)
        entries[{i, static_cast<std::uint32_t>(dice.below(800))}] = smallWhole<double>(dice);
  const CsrMatrix<double> a = matrixOf(800, 800, entries);

  expectSame(product(a, a, SpGemmAlgorithm::automatic), plainProduct(a, a));
  EXPECT_EQ(report.tileGroups, 50u) << report.choice;
  EXPECT_EQ(report.groups, 100u);
}

TEST_F(SpGemmOnCudaTest, EqualBitsTwiceAndWithinRoundingOfExactSums)
{
  const CsrMatrix<double> wide = randomMatrix(300, 300, 40, 26);
  const CsrMatrix<float> a = converted<float>(Context{{}, 1}, wide);
  const CsrMatrix<double> exact =
      plainProduct(converted<double>(Context{{}, 1}, a), converted<double>(Context{{}, 1}, a));

  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    const CsrMatrix<float> c = product(a, a, algorithm);
    expectSame(product(a, a, algorithm), c);
    ASSERT_EQ(c.column.toVector(), exact.column.toVector());
    for (std::size_t i = 0; i < c.value.size(); ++i) // 40 positive terms: a rounding each
      ASSERT_NEAR(c.value[i], exact.value[i], 80 * 6e-8 * exact.value[i]) << "entry " << i;
  }
}

TEST_F(SpGemmOnCudaTest, SinglePrecisionByTilesIsNoLessExactThanByRows)
{
  const CsrMatrix<float> a = converted<float>(Context{{}, 1}, randomMatrix(400, 400, 60, 34));
  const CsrMatrix<double> wide = converted<double>(Context{{}, 1}, a), exact = plainProduct(wide, wide);
  const auto largestError = [&](SpGemmAlgorithm algorithm) {
    const CsrMatrix<float> c = product(a, a, algorithm);
    double largest = 0;
    for (std::size_t i = 0; i < c.value.size(); ++i)
      largest = std::max(largest, std::abs(c.value[i] - exact.value[i]) / exact.value[i]);
    return largest;
  };

  EXPECT_LE(largestError(SpGemmAlgorithm::tiles), largestError(SpGemmAlgorithm::rows));
  EXPECT_LE(largestError(SpGemmAlgorithm::tiles),
            2 * 0x1p-24); // sums in double, rounded once for each 32 of the 50 tiles of a row
}

TEST_F(SpGemmOnCudaTest, EachSemiringMatchesThePlainProduct)
{
  const std::vector<std::size_t> lengths = {1, 3, 9, 20, 50, 90, 200, 600, 0, 5};
  const auto check = [&]<class V>(V) {
    const CsrMatrix<V> a = rowsOfLengths<V>(lengths, 700, 27), b = wholeMatrix<V>(700, 900, 5, 28);
    for (const Semiring semiring :
         {Semiring::plusTimes, Semiring::orAnd, Semiring::minPlus, Semiring::maxMin, Semiring::plusPair}) {
      SCOPED_TRACE("semiring " + std::to_string(static_cast<int>(semiring)));
      expectSame(product(a, b, SpGemmAlgorithm::automatic, semiring), plainProduct(a, b, semiring));
    }
  };
  check(float{});
  check(double{});
  check(std::int64_t{});
}

TEST_F(SpGemmOnCudaTest, Int64BeyondItsRangeIsAnError)
{
  const std::int64_t large = std::int64_t{1} << 62;
  const std::string wanted = "beyond 64 bits";
  for (const std::size_t terms : {3, 40, 100, 1500}) { // each kind of row
    EntryMap<std::int64_t> ofA, ofB;
    for (std::uint32_t k = 0; k < terms; ++k) {
      ofA[{0, k}] = k < 2 ? large : 0;
      ofB[{k, k / 2}] = 1;
    }
    const auto sum = [&] {
      product(matrixOf(1, terms, ofA), matrixOf(terms, terms, ofB), SpGemmAlgorithm::rows);
    };
    EXPECT_NE(testing::messageOf(sum).find(wanted), std::string::npos) << terms << " terms";
    ofA[{0, 1}] = large - 1; // the sum is the largest number there is
    EXPECT_EQ(product(matrixOf(1, terms, ofA), matrixOf(terms, terms, ofB), SpGemmAlgorithm::rows).value[0],
              std::numeric_limits<std::int64_t>::max());
  }
  const CsrMatrix<std::int64_t> a = matrixOf<std::int64_t>(1, 1, {{{0, 0}, large}}),
                                b = matrixOf<std::int64_t>(1, 1, {{{0, 0}, -4}});
  EXPECT_NE(testing::messageOf([&] { product(a, b, SpGemmAlgorithm::rows); }).find(wanted),
            std::string::npos);
}

TEST_F(SpGemmOnCudaTest, NumbersThatAreNotFiniteStayWhereTheyBelong)
{
  CsrMatrix<double> a = wholeMatrix<double>(64, 64, 30, 29);
  a.value[100] = std::numeric_limits<double>::infinity();
  for (double& value : a.value)
    value = value == 0 ? 1 : value; // infinity times zero would not equal itself

  expectSame(product(a, a, SpGemmAlgorithm::automatic), plainProduct(a, a));
  EXPECT_EQ(report.tileGroups, 0u);
  EXPECT_NE(report.choice.find("not finite"), std::string::npos) << report.choice;
  EXPECT_NE(testing::messageOf([&] { product(a, a, SpGemmAlgorithm::tiles); }).find("not finite"),
            std::string::npos);
}

TEST_F(SpGemmOnCudaTest, WhatTilesCannotDoIsAnErrorWhenAskedFor)
{
  const CsrMatrix<double> a = wholeMatrix<double>(9, 9, 3, 30);
  const CsrMatrix<std::int64_t> whole = wholeMatrix<std::int64_t>(9, 9, 3, 30);

  EXPECT_NE(
      testing::messageOf([&] { product(a, a, SpGemmAlgorithm::tiles, Semiring::minPlus); }).find("semiring"),
      std::string::npos);
  EXPECT_NE(testing::messageOf([&] { product(whole, whole, SpGemmAlgorithm::tiles); }).find("integers"),
            std::string::npos);
  EXPECT_NE(testing::messageOf([&] {
              product(a, wholeMatrix<double>(8, 9, 3, 31), SpGemmAlgorithm::rows);
            }).find("A is 9 x 9 and B 8 x 9"),
            std::string::npos);
}

TEST_F(SpGemmOnCudaTest, RangesWithinAMemoryLimitAreTheWholeBitForBit)
{
  const CsrMatrix<double> a = randomMatrix(517, 517, 14, 32);
  const CsrOnCuda<double> onCuda = broughtToCuda(context, a, "A");
  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    const CsrMatrix<double> whole = product(a, a, algorithm);
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    const std::vector<std::size_t> starts = spGemm->rangeStarts(onCuda, onCuda, 200000);
    ASSERT_GT(starts.size(), 4u);
    ASSERT_EQ(starts.back(), 517u);

    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      const CsrMatrix<double> range =
          broughtToHost(context, spGemm->multiplyRows(onCuda, onCuda, starts[i], starts[i + 1], options));
      const std::uint64_t first = whole.rowStart[starts[i]];
      ASSERT_EQ(range.rows, starts[i + 1] - starts[i]);
      ASSERT_EQ(range.entries(), whole.rowStart[starts[i + 1]] - first);
      for (std::size_t e = 0; e < range.entries(); ++e) {
        ASSERT_EQ(range.column[e], whole.column[first + e]);
        ASSERT_EQ(range.value[e], whole.value[first + e]);
      }
    }
  }
}

TEST_F(SpGemmOnCudaTest, MoreThanTheMemoryLimitIsAnErrorWithTheBytes)
{
  const CsrOnCuda<double> a = broughtToCuda(context, wholeMatrix<double>(300, 300, 20, 33), "A");
  SpGemmOnCudaOptions options;
  options.maxMemoryBytes = 100000;

  EXPECT_NE(testing::messageOf([&] { spGemm->multiply(a, a, options); }).find("limit of 100000"),
            std::string::npos);
  EXPECT_NE(testing::messageOf([&] { spGemm->rangeStarts(a, a, 100); }).find("limit of 100"),
            std::string::npos);
}

}
}
