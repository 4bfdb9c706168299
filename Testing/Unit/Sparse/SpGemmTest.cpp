// needs: Sparse
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

struct Method {
  SpGemmAlgorithm algorithm;
  int threads;
};

class SpGemmTest : public ::testing::TestWithParam<Method> {
protected:
  Context context{{}, GetParam().threads};

  template <class V>
  SpGemmOptions<V> options() const
  {
    SpGemmOptions<V> result;
    result.algorithm = GetParam().algorithm;
    return result;
  }
  template <class V>
  CsrMatrix<V> product(const CsrMatrix<V>& a, const CsrMatrix<V>& b) const
  {
    return multiply(context, a, b, options<V>());
  }
};
INSTANTIATE_TEST_SUITE_P(EachMethod, SpGemmTest,
                         ::testing::Values(Method{SpGemmAlgorithm::rows, 1},
                                           Method{SpGemmAlgorithm::tiles, 1},
                                           Method{SpGemmAlgorithm::automatic, 1},
                                           Method{SpGemmAlgorithm::rows, 3},
                                           Method{SpGemmAlgorithm::tiles, 3}));

TEST_P(SpGemmTest, ThreeByThreeByHand)
{
  const CsrMatrix<double> a = matrixOf<double>(3, 3, {{{0, 0}, 1}, {{0, 2}, 2}, {{2, 1}, 3}});
  const CsrMatrix<double> b = matrixOf<double>(3, 3, {{{0, 1}, 4}, {{1, 1}, 5}, {{2, 0}, 6}, {{2, 1}, 7}});

  expectSame(product(a, b), matrixOf<double>(3, 3, {{{0, 0}, 12}, {{0, 1}, 4 + 14}, {{2, 1}, 15}}));
}

TEST_P(SpGemmTest, EqualsThePlainProductInEveryBit)
{
  struct Shape {
    std::size_t rows, inner, columns;
    double perRowA, perRowB;
  };
  for (const Shape& shape : {Shape{1, 1, 1, 1, 1}, Shape{7, 9, 8, 3, 3}, Shape{8, 8, 8, 64, 64},
                             Shape{9, 17, 65, 12, 30}, Shape{200, 90, 300, 2, 3}, Shape{70, 70, 70, 0.3, 0.5},
                             Shape{33, 4097, 5000, 40, 1}, Shape{130, 3, 2, 2, 2}}) {
    SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.inner) + " x "
                 + std::to_string(shape.columns));
    const CsrMatrix<double> a = randomMatrix(shape.rows, shape.inner, shape.perRowA, 1);
    const CsrMatrix<double> b = randomMatrix(shape.inner, shape.columns, shape.perRowB, 2);
    expectSame(product(a, b), plainProduct(a, b));
  }
}

TEST_P(SpGemmTest, EqualsThePlainProductInSinglePrecisionAndInIntegers)
{
  const auto single = [](std::size_t rows, std::size_t columns, std::uint64_t seed) {
    return randomMatrix<float>(rows, columns, 9, seed,
                               [](Dice& dice) { return static_cast<float>(dice.unit() - 0.5); });
  };
  expectSame(product(single(50, 60, 1), single(60, 70, 2)),
             plainProduct(single(50, 60, 1), single(60, 70, 2)));
  const auto whole = [](std::size_t rows, std::size_t columns, std::uint64_t seed) {
    return randomMatrix<std::int64_t>(rows, columns, 9, seed, [](Dice& dice) {
      return static_cast<std::int64_t>(dice.below(1u << 30)) - (1 << 29);
    });
  };
  expectSame(product(whole(50, 60, 1), whole(60, 70, 2)), plainProduct(whole(50, 60, 1), whole(60, 70, 2)));
}

TEST_P(SpGemmTest, WhatCancelsStaysAsAZeroAndSoDoZerosOfTheInputs)
{
  const auto sign = [](Dice& dice) { return dice.below(4) == 0 ? 0.0 : dice.below(2) ? 1.0 : -1.0; };
  const CsrMatrix<double> a = randomMatrix<double>(40, 40, 8, 1, sign),
                          b = randomMatrix<double>(40, 40, 8, 2, sign);
  const CsrMatrix<double> expected = plainProduct(a, b);
  ASSERT_GT(std::count(expected.value.begin(), expected.value.end(), 0.0), 50);

  expectSame(product(a, b), expected);
}

TEST_P(SpGemmTest, DenseRowsAndColumnsAndEmptyOnes)
{
  EntryMap<double> entries;
  Dice dice(3);
  for (std::uint32_t i = 0; i < 500; ++i) {
    entries[{17, i}] = dice.unit();
    entries[{i, 300}] = dice.unit();
    if (i % 3 == 0)
      entries[{i, i}] = 1;
  }
  const CsrMatrix<double> a = matrixOf<double>(501, 503, entries), b = matrixOf<double>(503, 501, entries);

  expectSame(product(a, b), plainProduct(a, b));
  expectSame(product(b, a), plainProduct(b, a));
}

TEST_P(SpGemmTest, MatricesWithoutRowsColumnsOrEntries)
{
  for (const auto& [rows, inner, columns] :
       {std::array<std::size_t, 3>{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {4, 5, 0}, {20, 30, 40}})
    expectSame(product(emptyMatrix<double>(rows, inner), emptyMatrix<double>(inner, columns)),
               emptyMatrix<double>(rows, columns));
}

TEST_P(SpGemmTest, TheIdentityChangesNothingFromEitherSide)
{
  const CsrMatrix<double> a = randomMatrix(61, 83, 6, 4);
  const auto identity = [](std::uint32_t size) {
    EntryMap<double> ones;
    for (std::uint32_t i = 0; i < size; ++i)
      ones[{i, i}] = 1;
    return matrixOf<double>(size, size, ones);
  };
  expectSame(product(a, identity(83)), a);
  expectSame(product(identity(61), a), a);
}

TEST_P(SpGemmTest, TransposedFactorsGiveTheTransposedProduct)
{
  const CsrMatrix<double> a = randomMatrix(60, 45, 5, 1), b = randomMatrix(45, 80, 5, 2);
  SpGemmOptions<double> turned = options<double>();
  turned.transposeA = turned.transposeB = true;

  expectSame(multiply(context, b, a, turned), transposed(context, product(a, b)));
}

TEST_P(SpGemmTest, ColumnsMayComeInAnyOrder)
{
  CsrMatrix<double> a = randomMatrix(30, 40, 7, 1), b = randomMatrix(40, 50, 7, 2);
  const CsrMatrix<double> expected = product(a, b);
  for (CsrMatrix<double>* matrix : {&a, &b})
    for (std::size_t row = 0; row < matrix->rows; ++row) {
      std::reverse(matrix->column.begin() + matrix->rowStart[row],
                   matrix->column.begin() + matrix->rowStart[row + 1]);
      std::reverse(matrix->value.begin() + matrix->rowStart[row],
                   matrix->value.begin() + matrix->rowStart[row + 1]);
    }

  expectSame(product(a, b), expected);
}

TEST_P(SpGemmTest, SumsOfNegativeZerosArePositive)
{
  const CsrMatrix<double> a = matrixOf<double>(1, 2, {{{0, 0}, -0.0}, {{0, 1}, -0.0}}),
                          b = matrixOf<double>(2, 1, {{{0, 0}, 1}, {{1, 0}, 1}});
  EXPECT_FALSE(std::signbit(product(a, b).value[0]));
  EXPECT_FALSE(std::signbit(product(a, matrixOf<double>(2, 1, {{{0, 0}, 1}})).value[0]));
}

TEST_P(SpGemmTest, APlanGivesTheBitsOfTheProductForNewNumbers)
{
  const CsrMatrix<double> a = randomMatrix(70, 60, 6, 1), b = randomMatrix(80, 60, 6, 2);
  SpGemmOptions<double> turned = options<double>();
  turned.transposeB = true;
  turned.scale = 3;
  turned.mask = randomMatrix(70, 80, 20, 3);
  SpGemmPlan<double> plan(context, a, b, turned);
  CsrMatrix<double> a2 = a, b2 = b;
  a2.value = randomMatrix(70, 60, 6, 1).value;
  b2.value = Array<double>(b.value.size());
  for (std::size_t i = 0; i < b.value.size(); ++i)
    b2.value[i] = 1.0 / static_cast<double>(i + 1);

  const CsrMatrix<double> got = plan.execute(a2.value, b2.value);

  expectSame(got, multiply(context, a2, b2, turned));
  EXPECT_EQ(got.column.data(), plan.pattern().column.data());
}

TEST(SpGemmChoice, MethodsAndThreadsGiveTheSameBitsOnMixedMatrices)
{
  EntryMap<double> entries; // dense blocks above, scattered below
  Dice dice(5);
  for (std::uint32_t i = 0; i < 400; ++i)
    for (std::uint32_t j = i / 24 * 24; j < i / 24 * 24 + 24 && j < 400; ++j)
      entries[{i, j}] = dice.unit();
  for (std::uint32_t i = 400; i < 3000; ++i)
    for (int k = 0; k < 5; ++k)
      entries[{i, static_cast<std::uint32_t>(dice.below(3000))}] = dice.unit();
  const CsrMatrix<double> a = matrixOf<double>(3000, 3000, entries);
  SpGemmReport report;

  const CsrMatrix<double> c = multiply(Context{{}, 1}, a, a, {}, &report);

  EXPECT_GT(report.tileGroups, 0u);
  EXPECT_LT(report.tileGroups, report.groups);
  for (const SpGemmAlgorithm algorithm :
       {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles, SpGemmAlgorithm::automatic})
    for (const int threads : {1, 2, 5}) {
      SpGemmOptions<double> options;
      options.algorithm = algorithm;
      expectSame(multiply(Context{{}, threads}, a, a, options), c);
    }
}

TEST(SpGemmChoice, NumbersThatAreNotFiniteStayWhereTheyBelong)
{
  CsrMatrix<double> a = randomMatrix(64, 64, 30, 1);
  a.value[3] = std::numeric_limits<double>::infinity();
  SpGemmReport report;

  const CsrMatrix<double> c = multiply(Context{}, a, a, {}, &report);

  EXPECT_EQ(report.tileGroups, 0u);
  EXPECT_EQ(report.choice, "rows: some numbers are not finite");
  expectSame(c, plainProduct(a, a));
  SpGemmOptions<double> tiles;
  tiles.algorithm = SpGemmAlgorithm::tiles;
  EXPECT_EQ(testing::errorText([&] { multiply(Context{}, a, a, tiles); }),
            "A B: algorithm tiles: some numbers are not finite. Allowed: auto or rows.");
}

TEST(SpGemmChoice, MatricesOfMoreColumnsThanAnArrayHoldsGoByHashing)
{
  const std::size_t wide = (std::size_t(1) << 22) + 100;
  const CsrMatrix<double> a = randomMatrix(50, 60, 10, 1);
  const CsrMatrix<double> b = randomMatrix(60, wide, 30, 2);

  expectSame(multiply(Context{}, a, b), plainProduct(a, b));
  SpGemmPlan<double> plan(Context{}, a, b);
  expectSame(plan.execute(a.value, b.value), plainProduct(a, b));
}

TEST(SpGemmChoice, AMillionRowsOfOneEntryAreNoMatter)
{
  const std::size_t size = 1000003;
  CsrMatrix<double> a = emptyMatrix<double>(size, size);
  std::vector<std::uint32_t> column(size);
  std::vector<double> value(size, 2);
  for (std::size_t i = 0; i < size; ++i) {
    a.rowStart[i + 1] = i + 1;
    column[i] = static_cast<std::uint32_t>(size - 1 - i);
  }
  a.column = column;
  a.value = value;

  const CsrMatrix<double> c = multiply(Context{{}, 2}, a, a);

  ASSERT_EQ(c.entries(), size);
  for (std::size_t i = 0; i < size; i += 997)
    EXPECT_TRUE(c.column[i] == i && c.value[i] == 4);
}

}
}
