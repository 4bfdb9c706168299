// on: CPU, GPU; needs: Sparse
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

struct Method {
  SpGemmAlgorithm algorithm;
  int threads;
};

class SpGemmTest : public DeviceTest, public ::testing::WithParamInterface<Method> {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    context.threads = GetParam().threads;
  }

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
    return multiply(context, a, b, options<V>(), &report);
  }

  /// Whole numbers on CUDA, whose sums are exact in any order and fused or not; elsewhere numbers that show
  /// each rounding, in the order of the plain product.
  template <class V>
  CsrMatrix<V> matrix(std::size_t rows, std::size_t columns, double perRow, std::uint64_t seed) const
  {
    return randomMatrix<V>(rows, columns, perRow, seed, [&](Dice& dice) {
      if (context.onCuda())
        return smallWhole<V>(dice);
      return static_cast<V>(std::is_integral_v<V> ? static_cast<double>(dice.below(1u << 27)) - (1 << 26)
                                                  : dice.unit() - 0.5);
    });
  }
  template <class V>
  void expectPlain(const CsrMatrix<V>& a, const CsrMatrix<V>& b) const
  {
    // which do not go by tiles on CUDA
    if (!(std::is_integral_v<V> && context.onCuda() && GetParam().algorithm == SpGemmAlgorithm::tiles))
      expectSame(product(a, b), plainProduct(a, b));
  }

  mutable SpGemmReport report;
};
INSTANTIATE_TEST_SUITE_P(EachMethod, SpGemmTest,
                         ::testing::Values(Method{SpGemmAlgorithm::rows, 1},
                                           Method{SpGemmAlgorithm::tiles, 1},
                                           Method{SpGemmAlgorithm::automatic, 1},
                                           Method{SpGemmAlgorithm::rows, 3},
                                           Method{SpGemmAlgorithm::tiles, 3}));

TEST_P(SpGemmTest, ThreeByThreeByHand)
{
  const CsrMatrix<double> a = matrixOf<double>(3, 3, {{{0, 0}, 1}, {{0, 2}, 2}, {{1, 1}, -3}, {{2, 0}, 4}});
  expectSame(product(a, a),
             matrixOf<double>(3, 3, {{{0, 0}, 9}, {{0, 2}, 2}, {{1, 1}, 9}, {{2, 0}, 4}, {{2, 2}, 8}}));
  EXPECT_EQ(report.products, 6u); // 2 + 1 in row 0, 1 in row 1, 2 in row 2
}

TEST_P(SpGemmTest, EqualsThePlainProductInEveryBit)
{
  struct Shape {
    std::size_t rows, inner, columns;
    double perRowA, perRowB;
  };
  for (const auto& [rows, inner, columns, perRowA, perRowB] :
       {Shape{1, 1, 1, 1, 1}, Shape{7, 9, 8, 3, 3}, Shape{8, 8, 8, 64, 64}, Shape{9, 17, 65, 12, 30},
        Shape{63, 65, 17, 5, 4}, Shape{130, 40, 257, 6, 30}, Shape{200, 90, 300, 2, 3},
        Shape{301, 299, 303, 2, 1}, Shape{70, 70, 70, 0.3, 0.5}, Shape{33, 4097, 5000, 40, 1},
        Shape{130, 3, 2, 2, 2}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(columns));
    expectPlain(matrix<double>(rows, inner, perRowA, 1), matrix<double>(inner, columns, perRowB, 2));
    expectPlain(matrix<float>(rows, inner, perRowA, 3), matrix<float>(inner, columns, perRowB, 4));
    expectPlain(matrix<std::int64_t>(rows, inner, perRowA, 5),
                matrix<std::int64_t>(inner, columns, perRowB, 6));
  }
}

TEST_P(SpGemmTest, AMatrixTimesItselfAndTimesItsCopyAreEqual)
{
  const CsrMatrix<double> a = matrix<double>(203, 203, 12, 7);
  CsrMatrix<double> copy = a;
  copy.column = Array<std::uint32_t>(a.column.toVector());
  expectPlain(a, a);
  expectSame(product(a, copy), product(a, a));
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
  for (std::uint32_t i = 0; i < 1500; ++i) {
    entries[{700, i}] = smallWhole<double>(dice);
    entries[{i, 300}] = smallWhole<double>(dice);
    if (i % 3 == 0)
      entries[{i, i}] = 1;
  }
  const CsrMatrix<double> a = matrixOf<double>(1501, 1503, entries),
                          b = matrixOf<double>(1503, 1501, entries);

  expectSame(product(a, b), plainProduct(a, b));
  expectSame(product(b, a), plainProduct(b, a));
}

TEST_P(SpGemmTest, MatricesWithoutRowsColumnsOrEntries)
{
  for (const auto& [rows, inner, columns] :
       {std::array<std::size_t, 3>{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {4, 5, 0}, {20, 30, 40}})
    expectSame(product(emptyMatrix<double>(rows, inner), emptyMatrix<double>(inner, columns)),
               emptyMatrix<double>(rows, columns));
  expectSame(product(emptyMatrix<double>(9, 4), matrix<double>(4, 7, 3, 8)), emptyMatrix<double>(9, 7));
  const CsrMatrix<double> left = matrixOf<double>(9, 20, {{{3, 2}, 1.0}}),
                          right = matrixOf<double>(20, 9, {{{17, 2}, 1.0}});
  expectSame(product(left, right), emptyMatrix<double>(9, 9)); // entries that do not meet
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
  const CsrMatrix<double> a = matrix<double>(60, 45, 5, 1), b = matrix<double>(45, 80, 5, 2);
  SpGemmOptions<double> turned = options<double>();
  turned.transposeA = turned.transposeB = true;

  expectSame(multiply(context, b, a, turned), transposed(Context{}, product(a, b)));
}

TEST_P(SpGemmTest, ColumnsMayComeInAnyOrder)
{
  CsrMatrix<double> a = matrix<double>(30, 40, 7, 1), b = matrix<double>(40, 50, 7, 2);
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
  EXPECT_EQ(got.column.toVector(), plan.pattern().column.toVector());
}

}
}
