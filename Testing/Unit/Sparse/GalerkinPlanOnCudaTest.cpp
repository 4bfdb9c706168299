// needs: Sparse; needs: GPU
#include "Core/Sparse/GalerkinPlanOnCuda.h"
#include "Core/Sparse/GalerkinPlan.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

/// Blocks of `side` x `side` along the diagonal, so dense that tiles are taken where the products are too
/// many for lists.
CsrMatrix<double> blocks(std::uint32_t rows, std::uint32_t side, std::uint32_t columns, std::uint64_t seed)
{
  Dice dice(seed);
  EntryMap<double> entries;
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t i = 0; i < side; ++i)
      entries[{row, static_cast<std::uint32_t>((row / side * side + i) % columns)}] = 1 + dice.below(8);
  return matrixOf(rows, columns, entries);
}

class GalerkinPlanOnCudaTest : public GpuTest {
protected:
  Buffer<double> numbers(const CsrMatrix<double>& matrix)
  {
    Buffer<double> buffer;
    buffer.fromHost(cuda, matrix.value.span());
    return buffer;
  }
  CsrMatrix<double> withNumbers(const CsrMatrix<double>& matrix, std::uint64_t seed)
  {
    Dice dice(seed);
    CsrMatrix<double> other = matrix;
    other.value = Array<double>(matrix.value.size());
    for (double& value : other.value)
      value = 1 + dice.below(8);
    return other;
  }
};

TEST_F(GalerkinPlanOnCudaTest, ListsOfProductsAreRightAndRepeatToTheBit)
{
  // Long and short lists: R has wide rows, P narrow ones.
  const CsrMatrix<double> a = randomMatrix(900, 900, 20, 1), p = randomMatrix(900, 40, 2, 2),
                          r = transposed(Context{}, p);
  const CsrOnCuda<double> ofR = broughtToCuda(cuda, r, "R"), ofA = broughtToCuda(cuda, a, "A"),
                          ofP = broughtToCuda(cuda, p, "P");
  for (const bool startsWithR : {false, true}) {
    GalerkinPlanOnCuda<double> plan(cuda, ofR, ofA, ofP, startsWithR);
    EXPECT_EQ(plan.methods(), "lists of products; lists of products");
    const CsrMatrix<double> first = broughtToHost(cuda, plan.first()),
                            expected = plainProduct(r, plainProduct(a, p));
    ASSERT_EQ(first.rowStart.toVector(), expected.rowStart.toVector());
    ASSERT_EQ(first.column.toVector(), expected.column.toVector());
    for (std::size_t i = 0; i < first.value.size(); ++i)
      ASSERT_NEAR(first.value[i], expected.value[i], 1e-13 * expected.value[i]);
    for (int repeat = 0; repeat < 2; ++repeat)
      EXPECT_EQ(plan.execute(ofA.value.span().data()).toHost(cuda), first.value.toVector());
  }
}

TEST_F(GalerkinPlanOnCudaTest, TilesOfTheFactorsThatStayAreFilledOnce)
{
  const CsrMatrix<double> a = blocks(8192, 64, 8192, 3), p = blocks(8192, 64, 4096, 4),
                          r = transposed(Context{}, p);
  GalerkinPlan<double> onCpu(Context{}, a, p), onCuda(cuda, a, p);
  expectSame(onCuda.first(), onCpu.first());
  for (const std::uint64_t seed : {5, 6}) {
    const CsrMatrix<double> other = withNumbers(a, seed);
    expectSame(onCuda.execute(other.value), onCpu.execute(other.value));
  }
  const CsrOnCuda<double> ofR = broughtToCuda(cuda, r, "R"), ofA = broughtToCuda(cuda, a, "A"),
                          ofP = broughtToCuda(cuda, p, "P");
  GalerkinPlanOnCuda<double> plan(cuda, ofR, ofA, ofP, false);
  EXPECT_PRED2(contains, plan.methods(), "1024 of 1024 groups of 8 rows by tiles");
}

TEST_F(GalerkinPlanOnCudaTest, NumbersThatAreNotFiniteStayWhereTheyBelong)
{
  const CsrMatrix<double> a = blocks(8192, 64, 8192, 7), p = blocks(8192, 64, 4096, 8);
  const auto check = [&](const CsrMatrix<double>& firstA, const CsrMatrix<double>& thenA,
                         const CsrMatrix<double>& ofP) {
    GalerkinPlan<double> onCpu(Context{}, firstA, ofP), onCuda(cuda, firstA, ofP);
    const auto same = [](const CsrMatrix<double>& x, const CsrMatrix<double>& y) {
      ASSERT_EQ(x.value.size(), y.value.size());
      for (std::size_t i = 0; i < x.value.size(); ++i)
        ASSERT_TRUE(x.value[i] == y.value[i] || (std::isnan(x.value[i]) && std::isnan(y.value[i]))) << i;
    };
    same(onCuda.first(), onCpu.first());
    same(onCuda.execute(thenA.value), onCpu.execute(thenA.value));
    same(onCuda.execute(firstA.value), onCpu.execute(firstA.value));
  };
  CsrMatrix<double> badA = withNumbers(a, 9), badP = withNumbers(p, 10), hugeA = withNumbers(a, 11);
  badA.value[1000] = std::numeric_limits<double>::infinity();
  badP.value[500] = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < 64; ++i) // finite, but not so in A P
    hugeA.value[i] = std::numeric_limits<double>::max();
  check(a, badA, p);
  check(badA, a, p);
  check(a, withNumbers(a, 12), badP);
  check(a, hugeA, p);
}

TEST_F(GalerkinPlanOnCudaTest, AnIntegerBeyondItsRangeInListsIsAnError)
{
  const CsrMatrix<std::int64_t> one = matrixOf<std::int64_t>(1, 1, {{{0, 0}, 1}}),
                                large = matrixOf<std::int64_t>(1, 1, {{{0, 0}, std::int64_t{1} << 32}});
  GalerkinPlan<std::int64_t> plan(cuda, large, one, one);
  const Array<std::int64_t> larger{std::int64_t{1} << 31};
  EXPECT_PRED2(contains, messageOf([&] { plan.execute(larger); }), "beyond 64 bits");
  expectSame(plan.execute(one.value), large);
}

}
}
