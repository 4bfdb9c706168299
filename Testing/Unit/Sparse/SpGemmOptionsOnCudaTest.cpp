// needs: Sparse; needs: GPU
#include "Core/Sparse/PreparedProductOnCuda.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using namespace testing;

class SpGemmOptionsOnCudaTest : public GpuTest {
protected:
  Context cpu;
};

TEST_F(SpGemmOptionsOnCudaTest, HalfPrecisionRoundsOperandsAsOnTheCpu)
{
  const auto check = [&](SpGemmAlgorithm algorithm, std::uint64_t powers, double roundings) {
    const CsrMatrix<float> a = randomMatrix<float>(64, 64, 12, 7, [&](Dice& dice) {
      const double magnitude = 0.5 + dice.unit(), sign = dice.below(2) == 1 ? 1 : -1;
      return static_cast<float>(std::ldexp(sign * magnitude, static_cast<int>(dice.below(powers))));
    });
    CsrMatrix<float> sizes = a; // sums of magnitudes bound what roundings of sums can do
    sizes.value = Array<float>(a.value.toVector());
    for (float& value : sizes.value)
      value = std::abs(value);
    SpGemmOptions<float> options;
    options.half = true;
    const CsrMatrix<float> expected = multiply(cpu, a, a, options),
                           bound = multiply(cpu, sizes, sizes, options);
    options.algorithm = algorithm;
    const CsrMatrix<float> c = multiply(cuda, a, a, options);
    ASSERT_EQ(c.column.toVector(), expected.column.toVector());
    for (std::size_t i = 0; i < c.value.size(); ++i)
      ASSERT_NEAR(c.value[i], expected.value[i], roundings * bound.value[i]) << "entry " << i;
  };
  // two ways to add up to 20 products, half a unit of 2^-23 each
  check(SpGemmAlgorithm::rows, 60, 40 * 6e-8);
  check(SpGemmAlgorithm::tiles, 60, 40 * 6e-8);
  // From 2^14 down to 2^-11 in a row: tensor cores keep fewer bits of products of what is below 2^-14, as
  // half precision itself does, and cut off below 2^-23.
  check(SpGemmAlgorithm::tsparse, 24, 60 * 0x1p-23);
}

TEST_F(SpGemmOptionsOnCudaTest, RangesWithinTheLimitMakeTheWhole)
{
  const CsrMatrix<double> a = wholeMatrix<double>(400, 400, 15, 8);
  SpGemmOptions<double> options{.mask = wholeMatrix<double>(400, 400, 200, 10),
                                .accumulate = wholeMatrix<double>(400, 400, 3, 9)};
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

TEST_F(SpGemmOptionsOnCudaTest, AMaskWithFewEntriesHasAnInnerProductForEach)
{
  const auto check = [&]<class V>(V) {
    const CsrMatrix<V> a = smallNumbers<V>(300, 200, 20), b = smallNumbers<V>(200, 500, 21);
    SpGemmOptions<V> options{.mask = wholeMatrix<V>(300, 500, 2, 22)};
    for (const Semiring semiring :
         {Semiring::plusTimes, Semiring::orAnd, Semiring::minPlus, Semiring::maxMin, Semiring::plusPair}) {
      options.semiring = semiring;
      SpGemmReport report;
      const CsrMatrix<V> c = multiply(cuda, a, b, options, &report);
      expectSame(c, multiply(cpu, a, b, options));
      EXPECT_LT(c.entries(), options.mask->entries()); // nothing meets in the others
      EXPECT_EQ(report.products, describeProduct(cpu, a, b, options).products);
      EXPECT_PRED2(contains, report.choice, "an inner product for each entry of the mask");
      EXPECT_EQ(describeProduct(cuda, a, b, options).choice, report.choice);
    }
    options.semiring = Semiring::plusTimes;
    options.accumulate = wholeMatrix<V>(300, 500, 1, 23);
    options.scale = static_cast<V>(2);
    expectSame(multiply(cuda, a, b, options), multiply(cpu, a, b, options));
    CsrMatrix<V> rejoined = memoryOnHost<V>(300, 500, multiply(cpu, a, b, options).entries());
    PreparedProductOnCuda<V> inRanges(cuda, a, b, options);
    std::uint64_t entries = 0;
    for (std::size_t first = 0; first < 300; first += 104) {
      const RowsOfProduct<V> rows =
          inRanges.multiplyWithinMemory(first, std::min<std::size_t>(first + 104, 300));
      inRanges.place(rows, rejoined, first, entries);
      entries += rows.entries();
    }
    expectSame(rejoined, multiply(cpu, a, b, options));
    options.complementMask = true;
    expectSame(multiply(cuda, a, b, options), multiply(cpu, a, b, options));
    options.mask = emptyMatrix<V>(300, 500);
    options.complementMask = false;
    expectSame(multiply(cuda, a, b, options), multiply(cpu, a, b, options));
  };
  check(float{});
  check(double{});
  check(std::int64_t{});
  const CsrMatrix<std::int64_t> large =
      matrixOf<std::int64_t>(2, 2, {{{0, 0}, std::int64_t{1} << 32}, {{0, 1}, 1}, {{1, 0}, 1}, {{1, 1}, 1}});
  SpGemmOptions<std::int64_t> corner{.mask = matrixOf<std::int64_t>(2, 2, {{{0, 0}, 1}})};
  EXPECT_PRED2(contains, messageOf([&] { multiply(cuda, large, large, corner); }), "beyond 64 bits");
}

TEST_F(SpGemmOptionsOnCudaTest, AnIntegerBeyondItsRangeInScaleOrDIsAnError)
{
  const CsrMatrix<std::int64_t> a = testing::matrixOf<std::int64_t>(1, 1, {{{0, 0}, std::int64_t{1} << 31}});
  SpGemmOptions<std::int64_t> options;
  options.scale = 2;
  EXPECT_PRED2(contains, testing::messageOf([&] { multiply(cuda, a, a, options); }), "beyond 64 bits");
  options.scale = 1;
  options.accumulate = testing::matrixOf<std::int64_t>(1, 1, {{{0, 0}, std::int64_t{1} << 62}});
  EXPECT_PRED2(contains, testing::messageOf([&] { multiply(cuda, a, a, options); }), "beyond 64 bits");
}

}
}
