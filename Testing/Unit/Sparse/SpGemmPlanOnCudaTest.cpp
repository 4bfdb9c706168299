// needs: Sparse; needs: GPU
#include "Core/Sparse/SpGemmPlanOnCuda.h"
#include "Core/Sparse/GalerkinPlan.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

/// The same pattern, other numbers.
template <class V>
CsrMatrix<V> withNumbers(const CsrMatrix<V>& matrix, std::uint64_t seed)
{
  Dice dice(seed);
  CsrMatrix<V> other = matrix;
  other.value = Array<V>(matrix.value.size());
  for (V& value : other.value)
    value = smallWhole<V>(dice);
  return other;
}

class SpGemmPlanOnCudaTest : public GpuTest {
protected:
  Context cpu;
};

TEST_F(SpGemmPlanOnCudaTest, OtherNumbersHaveTheBitsOfAProductMadeAnew)
{
  const auto rough = [](Dice& dice) { return static_cast<float>(dice.unit() - 0.5); };
  const CsrMatrix<float> a = randomMatrix<float>(203, 180, 25, 1, rough),
                         b = randomMatrix<float>(180, 190, 25, 2, rough);
  const CsrOnCuda<float> ofA = broughtToCuda(cuda, a, "A"), ofB = broughtToCuda(cuda, b, "B");
  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    SpGemmPlanOnCuda<float> plan(cuda, ofA, ofB, options);
    for (std::uint64_t seed = 3; seed < 6; ++seed) {
      CsrMatrix<float> otherA = randomMatrix<float>(203, 180, 25, 1, rough), otherB = b;
      Dice dice(seed);
      for (float& value : otherA.value)
        value = rough(dice);
      const CsrOnCuda<float> nowA = broughtToCuda(cuda, otherA, "A"), nowB = broughtToCuda(cuda, otherB, "B");
      const CsrMatrix<float> expected = broughtToHost(cuda, SpGemmOnCuda(cuda).multiply(nowA, nowB, options));
      const Buffer<float> c = plan.execute(nowA.value.span().data(), nowB.value.span().data());

      ASSERT_EQ(plan.pattern().rowStart.toHost(cuda), expected.rowStart.toVector());
      ASSERT_EQ(plan.pattern().column.toHost(cuda), expected.column.toVector());
      ASSERT_EQ(c.toHost(cuda), expected.value.toVector())
          << "algorithm " << static_cast<int>(algorithm) << ", seed " << seed;
    }
  }
}

TEST_F(SpGemmPlanOnCudaTest, AMatrixTimesItselfMayGetTwoSetsOfNumbers)
{
  const CsrMatrix<double> a = wholeMatrix<double>(150, 150, 30, 7), left = withNumbers(a, 8),
                          right = withNumbers(a, 9);
  const CsrOnCuda<double> onCuda = broughtToCuda(cuda, a, "A");
  const auto numbers = [&](const CsrMatrix<double>& matrix) {
    Buffer<double> buffer;
    buffer.fromHost(cuda, matrix.value.span());
    return buffer;
  };
  const Buffer<double> ofLeft = numbers(left), ofRight = numbers(right);
  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    SpGemmPlanOnCuda<double> plan(cuda, onCuda, onCuda, options);
    const auto product = [&](const Buffer<double>& x, const Buffer<double>& y) {
      return plan.execute(x.span().data(), y.span().data()).toHost(cuda);
    };
    EXPECT_EQ(product(ofLeft, ofLeft), plainProduct(left, left).value.toVector());
    EXPECT_EQ(product(ofLeft, ofRight), plainProduct(left, right).value.toVector());
    EXPECT_EQ(product(ofRight, ofRight), plainProduct(right, right).value.toVector());
  }
}

TEST_F(SpGemmPlanOnCudaTest, PlansOfTheHostAreThoseOfTheCpu)
{
  const auto check = [&]<class V>(V) {
    CsrMatrix<V> a = wholeMatrix<V>(80, 60, 12, 10), b = wholeMatrix<V>(80, 90, 12, 11);
    a.column = Array<std::uint32_t>(a.column.toVector()); // arrays are shared
    a.value = Array<V>(a.value.toVector());
    for (std::size_t row = 0; row < a.rows; ++row) { // unsorted rows
      std::reverse(a.column.begin() + a.rowStart[row], a.column.begin() + a.rowStart[row + 1]);
      std::reverse(a.value.begin() + a.rowStart[row], a.value.begin() + a.rowStart[row + 1]);
    }
    SpGemmOptions<V> options;
    options.transposeA = true;
    for (const bool more : {false, true}) {
      if (more) {
        options.mask = wholeMatrix<V>(60, 90, 40, 12);
        options.complementMask = true;
        options.scale = static_cast<V>(-3);
      }
      SpGemmPlan<V> onCpu(cpu, a, b, options), onCuda(cuda, a, b, options);
      EXPECT_EQ(onCuda.pattern().column.toVector(), onCpu.pattern().column.toVector());
      const CsrMatrix<V> otherA = withNumbers(a, 13), otherB = withNumbers(b, 14);
      expectSame(onCuda.execute(otherA.value, otherB.value), onCpu.execute(otherA.value, otherB.value));
      expectSame(onCuda.execute(a.value, b.value), onCpu.execute(a.value, b.value));
    }
    SpGemmOptions<V> semiring{.semiring = Semiring::minPlus, .transposeA = true};
    SpGemmPlan<V> onCpu(cpu, b, b, semiring), onCuda(cuda, b, b, semiring);
    const CsrMatrix<V> otherB = withNumbers(b, 15);
    expectSame(onCuda.execute(otherB.value, otherB.value), onCpu.execute(otherB.value, otherB.value));
  };
  check(float{});
  check(double{});
  check(std::int64_t{});
}

TEST_F(SpGemmPlanOnCudaTest, NumbersThatAreNotFiniteGoByRowsAndLaterOnesByTilesAgain)
{
  const CsrMatrix<double> a = withNumbers(wholeMatrix<double>(64, 64, 40, 16), 17);
  CsrMatrix<double> infinite = a;
  infinite.value = Array<double>(a.value.toVector());
  for (double& value : infinite.value)
    value = value == 0 ? 1 : value; // infinity times zero would not equal itself
  infinite.value[100] = std::numeric_limits<double>::infinity();
  SpGemmPlan<double> plan(cuda, infinite, infinite);
  expectSame(plan.execute(infinite.value, infinite.value), plainProduct(infinite, infinite));
  expectSame(plan.execute(a.value, a.value), plainProduct(a, a));

  SpGemmOptions<double> tiles;
  tiles.algorithm = SpGemmAlgorithm::tiles;
  SpGemmPlan<double> byTiles(cuda, a, a, tiles);
  EXPECT_PRED2(contains, messageOf([&] { byTiles.execute(infinite.value, infinite.value); }), "not finite");
}

TEST_F(SpGemmPlanOnCudaTest, AGalerkinPlanKeepsWhatLiesBetweenOnTheDevice)
{
  const CsrMatrix<double> square = wholeMatrix<double>(300, 300, 6, 21),
                          p = wholeMatrix<double>(300, 70, 3, 22),
                          fewRows = wholeMatrix<double>(20, 300, 3, 23), none = emptyMatrix<double>(300, 300);
  CsrMatrix<double> unsorted = square;
  unsorted.column = Array<std::uint32_t>(square.column.toVector());
  std::swap(unsorted.column[0], unsorted.column[1]);
  for (const CsrMatrix<double>& a : {square, unsorted, none}) {
    GalerkinPlan<double> symmetric(cuda, a, p), restricted(cuda, fewRows, a, p);
    for (const std::uint64_t seed : {24, 25}) {
      const CsrMatrix<double> other = withNumbers(a, seed);
      expectSame(symmetric.execute(other.value),
                 plainProduct(transposed(Context{}, p), plainProduct(other, p)));
      expectSame(restricted.execute(other.value), plainProduct(plainProduct(fewRows, other), p));
    }
  }
}

TEST_F(SpGemmPlanOnCudaTest, EmptyProductsAndWhatPlansRefuse)
{
  const CsrMatrix<double> none = emptyMatrix<double>(5, 5), a = wholeMatrix<double>(5, 5, 2, 18);
  SpGemmPlan<double> plan(cuda, none, a);
  expectSame(plan.execute(none.value, a.value), none);
  EXPECT_PRED2(contains, messageOf([&] { plan.execute(a.value, a.value); }), "as many as its pattern has");

  SpGemmOptions<double> options;
  options.dropTolerance = 1;
  EXPECT_PRED2(contains, messageOf([&] { SpGemmPlan<double>(cuda, a, a, options); }), "plan of A B");
  const CsrMatrix<std::int64_t> large = matrixOf<std::int64_t>(1, 1, {{{0, 0}, std::int64_t{1} << 31}});
  SpGemmPlan<std::int64_t> whole(cuda, large, large);
  const Array<std::int64_t> larger{std::int64_t{1} << 32};
  EXPECT_PRED2(contains, messageOf([&] { whole.execute(larger, larger); }), "beyond 64 bits");
}

}
}
