// needs: Sparse; needs: GPU
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

class SpGemmOptionsOnCudaTest : public ::testing::Test {
protected:
  void SetUp() override
  {
    TESSERA_NEEDS_GPU();
    cuda = makeContext({DeviceKind::cuda, 0}, 1);
  }

  template <class V>
  void expectAsOnTheCpu(const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>& options,
                        const std::string& what)
  {
    SCOPED_TRACE(what);
    expectSame(multiply(cuda, a, b, options), multiply(cpu, a, b, options));
  }

  Context cpu{{}, 1}, cuda{{}, 1};
};

TEST_F(SpGemmOptionsOnCudaTest, MasksScalesSumsAndTolerancesAreThoseOfTheCpu)
{
  const auto check = [&]<class V>(V) {
    const CsrMatrix<V> a = wholeMatrix<V>(90, 70, 9, 1), b = wholeMatrix<V>(70, 110, 8, 2);
    const CsrMatrix<V> other = wholeMatrix<V>(90, 110, 30, 3);
    for (const Semiring semiring : {Semiring::plusTimes, Semiring::minPlus}) {
      SpGemmOptions<V> options;
      options.semiring = semiring;
      options.mask = other;
      expectAsOnTheCpu(a, b, options, "mask");
      options.complementMask = true;
      expectAsOnTheCpu(a, b, options, "complement of a mask");
      options.scale = static_cast<V>(-3);
      expectAsOnTheCpu(a, b, options, "and scale");
      options.accumulate = wholeMatrix<V>(90, 110, 20, 4);
      expectAsOnTheCpu(a, b, options, "and D");
      options.dropTolerance = 5;
      expectAsOnTheCpu(a, b, options, "and tolerance");
      options.mask.reset();
      options.complementMask = false;
      expectAsOnTheCpu(a, b, options, "all but the mask");
    }
  };
  check(float{});
  check(double{});
  check(std::int64_t{});
}

TEST_F(SpGemmOptionsOnCudaTest, EmptyMaskAndEmptyDAreTakenAsTheyAre)
{
  const CsrMatrix<double> a = wholeMatrix<double>(30, 30, 5, 5), none = emptyMatrix<double>(30, 30);
  SpGemmOptions<double> options;
  options.accumulate = none;
  expectAsOnTheCpu(a, a, options, "D without entries");
  options.mask = none;
  expectAsOnTheCpu(a, a, options, "mask without entries");
  expectAsOnTheCpu(none, a, options, "A without entries");
}

TEST_F(SpGemmOptionsOnCudaTest, OperandsMayBeTransposedAndUnsorted)
{
  CsrMatrix<double> a = wholeMatrix<double>(60, 80, 7, 6);
  a.column = Array<std::uint32_t>(a.column.toVector()); // arrays are shared
  for (std::size_t row = 0; row < a.rows; ++row)
    std::reverse(a.column.begin() + a.rowStart[row], a.column.begin() + a.rowStart[row + 1]);
  for (const SpGemmAlgorithm algorithm : {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles}) {
    SpGemmOptions<double> options;
    options.algorithm = algorithm;
    options.transposeB = true;
    expectAsOnTheCpu(a, a, options, "A times its transpose");
    options.transposeA = true;
    options.transposeB = false;
    expectAsOnTheCpu(a, a, options, "transpose of A times A");
  }
}

TEST_F(SpGemmOptionsOnCudaTest, HalfPrecisionRoundsOperandsAsOnTheCpu)
{
  SpGemmOptions<float> options;
  options.half = true;
  const CsrMatrix<float> a = randomMatrix<float>(64, 64, 12, 7, [&](Dice& dice) {
    const double magnitude = 0.5 + dice.unit(), sign = dice.below(2) == 1 ? 1 : -1;
    return static_cast<float>(std::ldexp(sign * magnitude, static_cast<int>(dice.below(60))));
  });
  for (const SpGemmAlgorithm algorithm : {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles}) {
    options.algorithm = algorithm;
    const CsrMatrix<float> c = multiply(cuda, a, a, options), expected = multiply(cpu, a, a, options);
    CsrMatrix<float> sizes = a; // sums of magnitudes bound what roundings of sums can do
    sizes.value = Array<float>(a.value.toVector());
    for (float& value : sizes.value)
      value = std::abs(value);
    const CsrMatrix<float> bound = multiply(cpu, sizes, sizes, options);
    ASSERT_EQ(c.column.toVector(), expected.column.toVector());
    for (std::size_t i = 0; i < c.value.size();
         ++i) // two ways to add up to 20 products, half a unit of 2^-23 each
      ASSERT_NEAR(c.value[i], expected.value[i], 40 * 6e-8 * bound.value[i]) << "entry " << i;
  }
}

TEST_F(SpGemmOptionsOnCudaTest, HalfPrecisionIsWithinTwoThousandthsForNumbersNearOne)
{
  const CsrMatrix<double> wide = randomMatrix(300, 300, 40, 12); // values in [0.5, 1.5]
  const CsrMatrix<float> a = converted<float>(cpu, wide);
  const CsrMatrix<double> exact = multiply(cpu, wide, wide);
  SpGemmOptions<float> options;
  options.half = true;
  for (const SpGemmAlgorithm algorithm :
       {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles, SpGemmAlgorithm::tsparse}) {
    options.algorithm = algorithm;
    const CsrMatrix<float> c = multiply(cuda, a, a, options);
    for (std::size_t i = 0; i < c.value.size(); ++i)
      ASSERT_NEAR(c.value[i], exact.value[i], 2e-3 * exact.value[i])
          << "algorithm " << static_cast<int>(algorithm);
  }
}

TEST_F(SpGemmOptionsOnCudaTest, RangesWithinTheLimitMakeTheWhole)
{
  const CsrMatrix<double> a = wholeMatrix<double>(400, 400, 15, 8);
  SpGemmOptions<double> options;
  options.accumulate = wholeMatrix<double>(400, 400, 3, 9);
  options.mask = wholeMatrix<double>(400, 400, 200, 10);
  const CsrMatrix<double> expected = multiply(cpu, a, a, options);
  options.maxMemoryBytes = 150000;
  SpGemmReport report;

  expectSame(multiply(cuda, a, a, options, &report), expected);
  EXPECT_GT(report.ranges, 3u);
  std::size_t next = 0;
  multiplyInRanges<double>(
      cuda, a, a, options,
      [&](std::size_t firstRow, CsrMatrix<double>&& range) {
        ASSERT_EQ(firstRow, next);
        next += range.rows;
        ASSERT_EQ(range.entries(), expected.rowStart[next] - expected.rowStart[firstRow]);
        for (std::size_t e = 0; e < range.entries(); ++e)
          ASSERT_EQ(range.value[e], expected.value[expected.rowStart[firstRow] + e]);
      },
      &report);
  EXPECT_EQ(next, 400u);
}

TEST_F(SpGemmOptionsOnCudaTest, DescriptionSaysWhatTheProductDoes)
{
  const CsrMatrix<double> a = wholeMatrix<double>(64, 64, 40, 11);
  SpGemmReport done;
  multiply(cuda, a, a, {}, &done);
  const SpGemmReport described = describeProduct(cuda, a, a);

  EXPECT_EQ(described.products, done.products);
  EXPECT_EQ(described.tileGroups, done.tileGroups);
  EXPECT_EQ(described.tileGroups, 8u) << described.choice;
  EXPECT_EQ(described.products, describeProduct(cpu, a, a).products);
}

TEST_F(SpGemmOptionsOnCudaTest, AnIntegerBeyondItsRangeInScaleOrDIsAnError)
{
  const CsrMatrix<std::int64_t> a = testing::matrixOf<std::int64_t>(1, 1, {{{0, 0}, std::int64_t{1} << 31}});
  SpGemmOptions<std::int64_t> options;
  options.scale = 2;
  EXPECT_NE(testing::messageOf([&] { multiply(cuda, a, a, options); }).find("beyond 64 bits"),
            std::string::npos);
  options.scale = 1;
  options.accumulate = testing::matrixOf<std::int64_t>(1, 1, {{{0, 0}, std::int64_t{1} << 62}});
  EXPECT_NE(testing::messageOf([&] { multiply(cuda, a, a, options); }).find("beyond 64 bits"),
            std::string::npos);
}

}
}
