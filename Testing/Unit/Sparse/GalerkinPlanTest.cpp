// needs: Sparse
#include "Core/Sparse/GalerkinPlan.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

/// A chain of `rows` masses with springs, and the interpolation from every second one.
CsrMatrix<double> springs(std::uint32_t rows, double stiffness)
{
  EntryMap<double> entries;
  for (std::uint32_t i = 0; i < rows; ++i) {
    entries[{i, i}] = 2 * stiffness;
    if (i + 1 < rows)
      entries[{i, i + 1}] = entries[{i + 1, i}] = -stiffness;
  }
  return matrixOf(rows, rows, entries);
}

TEST(GalerkinPlan, AChainOfSpringsIsAChainOfHalfTheStiffness)
{
  const CsrMatrix<double> p = matrixOf<double>(
      5, 2, {{{0, 0}, 0.5}, {{1, 0}, 1}, {{2, 0}, 0.5}, {{2, 1}, 0.5}, {{3, 1}, 1}, {{4, 1}, 0.5}});
  GalerkinPlan<double> plan(Context{}, springs(5, 1), p);
  expectSame(plan.first(), springs(2, 0.5));
  expectSame(plan.execute(springs(5, 4).value), springs(2, 2));
  expectSame(plan.execute(springs(5, 1).value), plan.first());
}

TEST(GalerkinPlan, ItHasTheBitsOfTwoPlainProductsInTheOrderThatMakesFewerProducts)
{
  const CsrMatrix<double> factor = randomMatrix(120, 120, 3, 1),
                          a = multiply(Context{}, factor, transposed(Context{}, factor)),
                          p = randomMatrix(120, 30, 3, 2), fewRows = randomMatrix(10, 120, 3, 3);
  const Context context{{}, 2};
  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    SpGemmOptions<double> options;
    options.algorithm = algorithm;
    GalerkinPlan<double> symmetric(context, a, p, options), restricted(context, fewRows, a, p, options);
    EXPECT_FALSE(symmetric.startsWithR());
    EXPECT_TRUE(restricted.startsWithR());
    for (const std::uint64_t seed : {1, 4}) {
      CsrMatrix<double> other = a;
      other.value = Array<double>(a.value.toVector());
      Dice dice(seed);
      for (double& value : other.value)
        value = dice.unit();
      expectSame(symmetric.execute(other.value),
                 multiply(context, transposed(context, p), multiply(context, other, p)));
      expectSame(restricted.execute(other.value), multiply(context, multiply(context, fewRows, other), p));
    }
  }
}

TEST(GalerkinPlan, ThePatternStaysWhereValuesBecomeZeroOrAreNoNumbers)
{
  const CsrMatrix<double> p =
      matrixOf<double>(4, 3, {{{0, 0}, 1}, {{1, 0}, 1}, {{3, 2}, 1}}); // column 1 is empty
  const CsrMatrix<double> a = springs(4, 1);
  GalerkinPlan<double> plan(Context{}, a, p);
  CsrMatrix<double> other = a;
  other.value = Array<double>(a.value.size(), 0);
  expectSame(plan.execute(other.value), matrixOf<double>(3, 3, {{{0, 0}, 0}, {{2, 2}, 0}}));
  other.value[other.value.size() - 1] = std::numeric_limits<double>::quiet_NaN();
  const CsrMatrix<double> c = plan.execute(other.value);
  EXPECT_EQ(c.value[0], 0);
  EXPECT_TRUE(std::isnan(c.value[1]));
  expectSame(plan.execute(a.value), plan.first());
}

TEST(GalerkinPlan, WhatDoesNotFitTogetherIsSaid)
{
  const CsrMatrix<double> a = springs(4, 1), p = randomMatrix(3, 2, 1, 1);
  EXPECT_EQ(errorText([&] { GalerkinPlan<double>(Context{}, a, p); }, ExitCode::usage),
            "R A P: R is 2 x 3, A 4 x 4 and P 3 x 2. Allowed: as many columns of R as rows of A, and of A as "
            "rows of P. R is the transpose of P if it is not given.");
  GalerkinPlan<double> plan(Context{}, a, randomMatrix(4, 2, 1, 1));
  EXPECT_PRED2(contains, errorText([&] { plan.execute(p.value); }, ExitCode::usage),
               "as many as its pattern has");
}

}
}
