// on: CPU, GPU; needs: Sparse
#include "Core/Sparse/SpGemm.h"

#include "Core/Sparse/Rows/RowProduct.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

constexpr Semiring everySemiring[] = {Semiring::plusTimes, Semiring::orAnd, Semiring::minPlus,
                                      Semiring::maxMin, Semiring::plusPair};
template <class V>
class SpGemmSemiring : public DeviceTest {
protected:
  bool has(SpGemmAlgorithm algorithm, Semiring semiring) const
  {
    if (algorithm != SpGemmAlgorithm::tiles)
      return true;
    if (context.onCuda()) // tensor cores add products of floating-point numbers
      return semiring == Semiring::plusTimes && !std::is_integral_v<V>;
    return semiring != Semiring::minPlus && semiring != Semiring::maxMin;
  }
};
using ValueTypes = ::testing::Types<double, float, std::int64_t>;
TYPED_TEST_SUITE(SpGemmSemiring, ValueTypes);

TYPED_TEST(SpGemmSemiring, EqualsThePlainProductByEveryMethodThatHasIt)
{
  using V = TypeParam;
  const CsrMatrix<V> a = smallNumbers<V>(50, 40, 1), b = smallNumbers<V>(40, 60, 2);
  for (const Semiring semiring : everySemiring)
    for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
      SCOPED_TRACE(std::to_string(static_cast<int>(semiring)) + " by "
                   + std::to_string(static_cast<int>(algorithm)));
      SpGemmOptions<V> options{.semiring = semiring, .algorithm = algorithm};
      const auto product = [&] { return multiply(this->context, a, b, options); };
      if (this->has(algorithm, semiring))
        expectSame(product(), plainProduct(a, b, semiring));
      else
        EXPECT_PRED2(contains, errorText(product), "Allowed: auto or rows.");
    }
}

TYPED_TEST(SpGemmSemiring, MasksKeepOrLeaveOutTheirPlaces)
{
  using V = TypeParam;
  const CsrMatrix<V> a = smallNumbers<V>(50, 40, 1), b = smallNumbers<V>(40, 60, 2),
                     mask = smallNumbers<V>(50, 60, 3);
  const EntryMap<V> places = entriesOf(mask);
  for (const Semiring semiring : everySemiring)
    for (const bool complement : {false, true}) {
      SpGemmOptions<V> options{.semiring = semiring, .mask = mask, .complementMask = complement};
      EntryMap<V> expected = entriesOf(plainProduct(a, b, semiring));
      std::erase_if(expected, [&](const auto& entry) { return places.contains(entry.first) == complement; });

      expectSame(multiply(this->context, a, b, options), matrixOf<V>(50, 60, expected));
    }
}

TYPED_TEST(SpGemmSemiring, MasksAreAppliedWhileARowIsMade)
{
  using V = TypeParam;
  const CsrMatrix<V> a = smallNumbers<V>(50, 40, 1);
  struct Case {
    std::size_t columns, entriesOfRow, every; // one of so many entries of the product is in the mask
  };
  // columns that are summed in a table; rows of B in which the columns of a mask are looked up; one by one
  for (const Case& one : {Case{largestSummedColumns + 1, 12, 2}, Case{3000, 900, 300}, Case{300, 12, 2}}) {
    SCOPED_TRACE(one.columns);
    const CsrMatrix<V> b = randomMatrix<V>(40, one.columns, one.entriesOfRow, 2,
                                           [](Dice& dice) { return static_cast<V>(dice.below(7)) - 3; });
    for (const Semiring semiring : everySemiring) {
      const EntryMap<V> whole = entriesOf(plainProduct(a, b, semiring));
      EntryMap<V> inside, outside;
      std::size_t number = 0;
      for (const auto& entry : whole)
        (number++ % one.every == 0 ? inside : outside).insert(entry);
      SpGemmOptions<V> options{.semiring = semiring,
                               .algorithm = SpGemmAlgorithm::rows,
                               .mask = matrixOf<V>(50, one.columns, inside)};
      expectSame(multiply(this->context, a, b, options), matrixOf<V>(50, one.columns, inside));
      options.complementMask = true;
      expectSame(multiply(this->context, a, b, options), matrixOf<V>(50, one.columns, outside));
    }
  }
}

TYPED_TEST(SpGemmSemiring, ScaleAccumulateAndDropInThatOrder)
{
  using V = TypeParam;
  const CsrMatrix<V> a = smallNumbers<V>(50, 40, 1), b = smallNumbers<V>(40, 60, 2),
                     d = smallNumbers<V>(50, 60, 3), mask = smallNumbers<V>(50, 60, 4);
  const EntryMap<V> places = entriesOf(mask);
  for (const Semiring semiring : {Semiring::plusTimes, Semiring::minPlus})
    for (const SpGemmAlgorithm algorithm : everyAlgorithm)
      for (const bool masked : {false, true}) {
        if (!this->has(algorithm, semiring))
          continue;
        SpGemmOptions<V> options{
            .semiring = semiring, .algorithm = algorithm, .scale = -3, .accumulate = d, .dropTolerance = 5};
        if (masked)
          options.mask = mask;
        EntryMap<V> expected;
        for (const auto& [place, value] : entriesOf(plainProduct(a, b, semiring)))
          if (!masked || places.contains(place))
            expected[place] = -3 * value;
        for (const auto& [place, value] : entriesOf(d)) {
          const auto [sum, isNew] = expected.emplace(place, value);
          if (!isNew)
            sum->second = semiring == Semiring::minPlus ? std::min(sum->second, value) : sum->second + value;
        }
        std::erase_if(expected, [](const auto& entry) { return std::abs(entry.second) <= 5; });
        expectSame(multiply(this->context, a, b, options), matrixOf<V>(50, 60, expected));
      }
}

using SpGemmOperands = DeviceTest;

TEST_F(SpGemmOperands, EmptyMasksAndDsAreTakenAsTheyAre)
{
  const CsrMatrix<double> a = smallNumbers<double>(30, 30, 5), none = emptyMatrix<double>(30, 30);
  SpGemmOptions<double> options;
  options.accumulate = none;
  expectSame(multiply(context, a, a, options), plainProduct(a, a));
  options.mask = none;
  expectSame(multiply(context, a, a, options), none);
  expectSame(multiply(context, none, a, options), none);
}

TEST_F(SpGemmOperands, AMatrixMayBeMultipliedByItsTranspose)
{
  const CsrMatrix<double> a = smallNumbers<double>(60, 80, 6), turned = transposed(Context{}, a);
  for (const SpGemmAlgorithm algorithm : everyAlgorithm) {
    SpGemmOptions<double> options{.algorithm = algorithm, .transposeB = true};
    expectSame(multiply(context, a, a, options), plainProduct(a, turned));
    std::swap(options.transposeA, options.transposeB);
    expectSame(multiply(context, a, a, options), plainProduct(turned, a));
  }
}

TEST_F(SpGemmOperands, ErrsByAtMostTwoThousandthsOnUsualNumbers)
{
  const CsrMatrix<double> wide = randomMatrix(300, 300, 40, 12),
                          exact = plainProduct(wide, wide); // in [0.5, 1.5]
  const CsrMatrix<float> a = converted<float>(Context{}, wide);
  SpGemmOptions<float> options;
  options.half = true;
  for (const SpGemmAlgorithm algorithm :
       {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles, SpGemmAlgorithm::tsparse}) {
    if (algorithm == SpGemmAlgorithm::tsparse && !context.onCuda())
      continue;
    options.algorithm = algorithm;
    const CsrMatrix<float> c = multiply(context, a, a, options);
    ASSERT_EQ(c.column.toVector(), exact.column.toVector());
    double largest = 0;
    for (std::size_t i = 0; i < c.value.size(); ++i)
      largest = std::max(largest, std::fabs(c.value[i] - exact.value[i]) / exact.value[i]);
    EXPECT_LT(largest, 2e-3) << "algorithm " << static_cast<int>(algorithm);
    EXPECT_GT(largest, 1e-5); // it was rounded
  }
}

TEST_F(SpGemmOperands, NumbersFarOutsideItsRangeAreScaledByRowAndColumn)
{
  const CsrMatrix<float> a =
      matrixOf<float>(3, 3, {{{0, 0}, 3e30f}, {{0, 1}, 1e30f}, {{1, 0}, 5e-30f}, {{2, 2}, 0.0f}});
  const CsrMatrix<float> b =
      matrixOf<float>(3, 2, {{{0, 0}, 2e-35f}, {{1, 0}, 1e-35f}, {{0, 1}, 7e6f}, {{2, 1}, 1.0f}});
  SpGemmOptions<float> options;
  options.half = true;

  const CsrMatrix<float> c = multiply(context, a, b, options);

  const double unit = 3 * 0x1p-11; // roundings of two factors to half, and less of the sum
  EXPECT_NEAR(c.value[0], 7e-5, 7e-5 * unit);
  EXPECT_NEAR(c.value[1], 2.1e37, 2.1e37 * unit);
  EXPECT_NEAR(c.value[3], 3.5e-23, 3.5e-23 * unit);
  EXPECT_EQ(c.value[4], 0);
}

}
}
