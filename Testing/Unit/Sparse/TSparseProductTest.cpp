// needs: Sparse; needs: GPU
#include "Core/Sparse/TSparse/TSparseProduct.h"
#include "Core/Sparse/Numbers/HalfPrecision.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

class TSparseProductTest : public GpuTest {
protected:
  void SetUp() override
  {
    GpuTest::SetUp();
    if (cuda.onCuda())
      tSparse.emplace(cuda);
  }

  CsrMatrix<float> product(const CsrMatrix<float>& a, const CsrMatrix<float>& b,
                           const TSparseOptions& options = {})
  {
    const CsrOnCuda<float> onCudaA = broughtToCuda(cuda, a, "A");
    if (a.isSame(b))
      return broughtToHost(cuda, tSparse->multiply(onCudaA, onCudaA, options, &report));
    return broughtToHost(cuda, tSparse->multiply(onCudaA, broughtToCuda(cuda, b, "B"), options, &report));
  }

  /// Products of small whole numbers, which half precision holds: the same bits as the plain product.
  void expectExact(const CsrMatrix<float>& a, const CsrMatrix<float>& b, const std::string& what)
  {
    const CsrMatrix<float> expected = plainProduct(a, b);
    for (const bool tensorCores : {true, false}) {
      SCOPED_TRACE(what + (tensorCores ? "" : " without tensor cores"));
      expectSame(product(a, b, {.tensorCores = tensorCores}), expected);
    }
  }

  Context cpu;
  std::optional<TSparseProduct> tSparse;
  SpGemmReport report;
};

TEST_F(TSparseProductTest, ThreeByThreeByHand)
{
  const CsrMatrix<float> a = matrixOf<float>(3, 3, {{{0, 0}, 1}, {{0, 2}, 2}, {{1, 1}, -3}, {{2, 0}, 4}});
  const CsrMatrix<float> expected =
      matrixOf<float>(3, 3, {{{0, 0}, 9}, {{0, 2}, 2}, {{1, 1}, 9}, {{2, 0}, 4}, {{2, 2}, 8}});

  expectSame(product(a, a), expected);
  expectSame(product(a, a, {.tensorCores = false}), expected);
  EXPECT_EQ(report.products, 6u);
  EXPECT_PRED2(contains, report.choice, "without tensor cores: 1 pairs of tiles for 1 tiles");
}

TEST_F(TSparseProductTest, MatchesThePlainProductAtAwkwardShapes)
{
  std::uint64_t seed = 1;
  const auto check = [&](std::size_t rows, std::size_t inner, std::size_t columns, double perRowA,
                         double perRowB) {
    expectExact(wholeMatrix<float>(rows, inner, perRowA, seed),
                wholeMatrix<float>(inner, columns, perRowB, seed + 1),
                std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(columns));
    seed += 2;
  };
  check(1, 1, 1, 1, 1);
  check(7, 9, 5, 3, 2);
  check(8, 8, 8, 8, 8);
  check(63, 65, 17, 5, 4);
  check(130, 40, 257, 6, 30);
  check(301, 299, 303, 2, 1);      // many empty rows and tiles
  check(9, 2000, 41, 700, 20);     // more tasks of a tile than a warp brings at once
  check(20, 50, 9000, 9, 200);     // more tiles of C in a row than a block ranks at once
  check(13, 300, 600000, 50, 20);  // more than one window of columns
  check(16, 40, 0x7fffffff, 6, 9); // keys of more than 32 bits: rows of tiles and columns of tiles
  check(40000, 30, 300000, 1, 3);
}

TEST_F(TSparseProductTest, TilesOfDifferentNumbersOfTasksShareAFragment)
{
  EntryMap<float> entries;
  Dice dice(31);
  for (std::uint32_t k = 0; k < 400; ++k) {
    entries[{0, k}] = smallWhole<float>(dice); // a long list of tasks beside short ones
    entries[{k, k}] = smallWhole<float>(dice);
    entries[{k, 33}] = smallWhole<float>(dice);
  }
  expectExact(matrixOf(400, 400, entries), matrixOf(400, 400, entries), "arrow");
}

TEST_F(TSparseProductTest, EmptyMatricesHaveEmptyProducts)
{
  const auto empty = [](std::size_t rows, std::size_t columns) { return matrixOf<float>(rows, columns, {}); };

  expectSame(product(empty(0, 4), empty(4, 3)), empty(0, 3));
  expectSame(product(empty(5, 0), empty(0, 3)), empty(5, 3));
  expectSame(product(empty(9, 4), wholeMatrix<float>(4, 7, 3, 8)), empty(9, 7));
  const CsrMatrix<float> left = matrixOf<float>(9, 20, {{{3, 2}, 1.0f}}),
                         right = matrixOf<float>(20, 9, {{{5, 2}, 1.0f}});
  expectSame(product(left, right), empty(9, 9)); // tiles that meet, entries that do not: pruned
  EXPECT_PRED2(contains, report.choice, " 0 pairs of tiles");
}

TEST_F(TSparseProductTest, ZerosStayUnlessTheyAreCompacted)
{
  const CsrMatrix<float> a =
      randomMatrix<float>(120, 90, 9, 10, [](Dice& dice) { return dice.below(2) == 1 ? 1.0f : -1.0f; });
  const CsrMatrix<float> b =
      randomMatrix<float>(90, 70, 3, 11, [](Dice& dice) { return dice.below(2) == 1 ? 1.0f : -1.0f; });
  const CsrMatrix<float> expected = plainProduct(a, b);
  EntryMap<float> kept = entriesOf(expected);
  ASSERT_GT(std::erase_if(kept, [](const auto& entry) { return entry.second == 0; }), 100u)
      << "the case does not test what it should";

  for (const bool tensorCores : {true, false}) {
    expectSame(product(a, b, {.tensorCores = tensorCores}), expected);
    expectSame(product(a, b, {.tensorCores = tensorCores, .withoutZeros = true}), matrixOf(120, 70, kept));
  }
}

TEST_F(TSparseProductTest, TilesOfZerosAloneAreCompactedAway)
{
  const CsrMatrix<float> a = matrixOf<float>(20, 20, {{{0, 0}, 1}, {{0, 1}, 1}, {{17, 3}, 2}});
  const CsrMatrix<float> b = matrixOf<float>(20, 20, {{{0, 9}, 5}, {{1, 9}, -5}, {{3, 18}, 3}});

  expectSame(product(a, b), matrixOf<float>(20, 20, {{{0, 9}, 0}, {{17, 18}, 6}}));
  expectSame(product(a, b, {.withoutZeros = true}), matrixOf<float>(20, 20, {{{17, 18}, 6}}));
}

TEST_F(TSparseProductTest, EqualBitsTwiceAndWithinHalfPrecisionOfExactSums)
{
  const CsrMatrix<float> a = converted<float>(cpu, randomMatrix(300, 300, 40, 26)); // values in [0.5, 1.5]
  const CsrMatrix<double> wide = converted<double>(cpu, a), exact = plainProduct(wide, wide);

  for (const bool tensorCores : {true, false}) {
    const CsrMatrix<float> c = product(a, a, {.tensorCores = tensorCores});
    expectSame(product(a, a, {.tensorCores = tensorCores}), c);
    ASSERT_EQ(c.column.toVector(), exact.column.toVector());
    for (std::size_t i = 0; i < c.value.size();
         ++i) // two factors of 11 bits, rounded by half a unit, 2^-11 each at most
      ASSERT_NEAR(c.value[i], exact.value[i], (2 * 0x1p-11 + 1e-4) * exact.value[i]) << "entry " << i;
  }
}

TEST_F(TSparseProductTest, NumbersBeyondHalfPrecisionAreScaledByRowAndColumn)
{
  // Rows of A and columns of B of very different sizes, down to where float has no full numbers any more.
  CsrMatrix<float> a = wholeMatrix<float>(70, 60, 12, 40), b = wholeMatrix<float>(60, 90, 12, 41);
  for (std::size_t row = 0; row < a.rows; ++row)
    for (std::uint64_t i = a.rowStart[row]; i < a.rowStart[row + 1]; ++i)
      a.value[i] = std::ldexp(a.value[i], static_cast<int>(row) - 35);
  for (std::size_t i = 0; i < b.value.size(); ++i)
    b.value[i] = std::ldexp(b.value[i], 40 - static_cast<int>(b.column[i]));
  expectExact(a, b, "powers of two");

  const CsrMatrix<float> tiny = matrixOf<float>(1, 1, {{{0, 0}, 0x1p-149f}}),
                         huge = matrixOf<float>(1, 1, {{{0, 0}, 0x1.8p127f}});
  EXPECT_EQ(product(tiny, huge).value[0], 0x1.8p-22f);
}

TEST_F(TSparseProductTest, OptionsOfProductsAreThoseOfTheCpu)
{
  const CsrMatrix<float> a = wholeMatrix<float>(90, 70, 9, 1), b = wholeMatrix<float>(110, 70, 8, 2);
  SpGemmOptions<float> options{.transposeB = true,
                               .mask = wholeMatrix<float>(90, 110, 30, 3),
                               .scale = -3.0f,
                               .accumulate = wholeMatrix<float>(90, 110, 20, 4),
                               .half = true};
  for (const bool drop : {false, true}) {
    if (drop)
      options.dropTolerance = 0;
    options.algorithm = SpGemmAlgorithm::automatic;
    const CsrMatrix<float> expected = multiply(cpu, a, b, options);
    options.algorithm = SpGemmAlgorithm::tsparse;
    expectSame(multiply(cuda, a, b, options), expected);
  }
}

TEST_F(TSparseProductTest, RangesWithinTheMemoryLimitMakeTheWholeBitForBit)
{
  const CsrMatrix<float> a = converted<float>(cpu, randomMatrix(517, 517, 14, 32));
  SpGemmOptions<float> options{.algorithm = SpGemmAlgorithm::tsparse, .half = true};
  const CsrMatrix<float> whole = multiply(cuda, a, a, options);
  options.maxMemoryBytes = 2000000;

  expectSame(multiply(cuda, a, a, options, &report), whole);
  EXPECT_GT(report.ranges, 2u);
  EXPECT_EQ(describeProduct(cuda, a, a, options).ranges, report.ranges);
}

TEST_F(TSparseProductTest, WhatItCannotDoIsAnError)
{
  CsrMatrix<float> a = wholeMatrix<float>(64, 64, 30, 29);
  SpGemmOptions<float> options;
  options.algorithm = SpGemmAlgorithm::tsparse;
  EXPECT_PRED2(contains, messageOf([&] { multiply(cuda, a, a, options); }), "half precision");
  SpGemmOptions<double> ofDouble;
  ofDouble.algorithm = SpGemmAlgorithm::tsparse;
  const CsrMatrix<double> wide = converted<double>(cpu, a);
  EXPECT_PRED2(contains, messageOf([&] { multiply(cuda, wide, wide, ofDouble); }), "half precision");
  options.half = true;
  EXPECT_PRED2(contains, messageOf([&] { multiply(cpu, a, a, options); }), "CUDA device");
  EXPECT_PRED2(contains, messageOf([&] { product(a, wholeMatrix<float>(8, 9, 3, 31)); }),
               "A is 64 x 64 and B 8 x 9");
  EXPECT_PRED2(contains, messageOf([&] { product(a, a, {.maxMemoryBytes = 1000}); }), "more than 1000");
  a.value[100] = std::numeric_limits<float>::infinity();
  EXPECT_PRED2(contains, messageOf([&] { product(a, a); }), "not finite");
}

}
}
