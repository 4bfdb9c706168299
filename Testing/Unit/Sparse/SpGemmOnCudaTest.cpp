// needs: Sparse; needs: GPU
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/SpGemmOnGpu.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

class SpGemmOnCudaTest : public SpGemmOnGpu {
protected:
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
};

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
      EXPECT_PRED2(contains, testing::messageOf([&] { product(a, b, SpGemmAlgorithm::tiles); }),
                   "more than 65535");
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
    EXPECT_PRED2(contains, testing::messageOf(sum), wanted) << terms << " terms";
    ofA[{0, 1}] = large - 1; // the sum is the largest number there is
    EXPECT_EQ(product(matrixOf(1, terms, ofA), matrixOf(terms, terms, ofB), SpGemmAlgorithm::rows).value[0],
              std::numeric_limits<std::int64_t>::max());
  }
  const CsrMatrix<std::int64_t> a = matrixOf<std::int64_t>(1, 1, {{{0, 0}, large}}),
                                b = matrixOf<std::int64_t>(1, 1, {{{0, 0}, -4}});
  EXPECT_PRED2(contains, testing::messageOf([&] { product(a, b, SpGemmAlgorithm::rows); }), wanted);
}

TEST_F(SpGemmOnCudaTest, NumbersThatAreNotFiniteStayWhereTheyBelong)
{
  CsrMatrix<double> a = wholeMatrix<double>(64, 64, 30, 29);
  a.value[100] = std::numeric_limits<double>::infinity();
  for (double& value : a.value)
    value = value == 0 ? 1 : value; // infinity times zero would not equal itself

  expectSame(product(a, a, SpGemmAlgorithm::automatic), plainProduct(a, a));
  EXPECT_EQ(report.tileGroups, 0u);
  EXPECT_PRED2(contains, report.choice, "not finite");
  EXPECT_PRED2(contains, testing::messageOf([&] { product(a, a, SpGemmAlgorithm::tiles); }), "not finite");
}

TEST_F(SpGemmOnCudaTest, WhatTilesCannotDoIsAnErrorWhenAskedFor)
{
  const CsrMatrix<double> a = wholeMatrix<double>(9, 9, 3, 30);
  const CsrMatrix<std::int64_t> whole = wholeMatrix<std::int64_t>(9, 9, 3, 30);

  EXPECT_PRED2(contains, testing::messageOf([&] { product(whole, whole, SpGemmAlgorithm::tiles); }),
               "integers");
  EXPECT_PRED2(contains, testing::messageOf([&] {
                 product(a, wholeMatrix<double>(8, 9, 3, 31), SpGemmAlgorithm::rows);
               }),
               "A is 9 x 9 and B 8 x 9");
}

TEST_F(SpGemmOnCudaTest, RangesWithinAMemoryLimitAreTheWholeBitForBit)
{
  const CsrMatrix<double> a = randomMatrix(517, 517, 14, 32);
  const CsrOnCuda<double> onCuda = broughtToCuda(cuda, a, "A");
  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    const CsrMatrix<double> whole = product(a, a, algorithm);
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    const std::vector<std::size_t> starts = spGemm->rangeStarts(onCuda, onCuda, 200000);
    ASSERT_GT(starts.size(), 4u);
    ASSERT_EQ(starts.back(), 517u);

    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      const CsrMatrix<double> range =
          broughtToHost(cuda, spGemm->multiplyRows(onCuda, onCuda, starts[i], starts[i + 1], options));
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
  const CsrOnCuda<double> a = broughtToCuda(cuda, wholeMatrix<double>(300, 300, 20, 33), "A");
  SpGemmOnCudaOptions options;
  options.maxMemoryBytes = 100000;

  EXPECT_PRED2(contains, testing::messageOf([&] { spGemm->multiply(a, a, options); }), "limit of 100000");
  EXPECT_PRED2(contains, testing::messageOf([&] { spGemm->rangeStarts(a, a, 100); }), "limit of 100");
}

}
}
