// needs: Sparse
#include "Core/Sparse/Numbers/HalfPrecision.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

TEST(SpGemmOptions, TilesUnderAMaskHaveTheBitsOfRows)
{
  EntryMap<double> entries, places;
  Dice dice(30);
  for (std::uint32_t row = 0; row < 150; ++row) {
    for (std::uint32_t i = 0; i < 50; ++i)
      entries[{row, row / 50 * 50 + i}] = dice.unit() - 0.5;
    if (row % 50 > 7) // the first group of each block has an empty mask
      places[{row, static_cast<std::uint32_t>(dice.below(150))}] = 1;
  }
  const CsrMatrix<double> a = matrixOf(150, 150, entries);
  SpGemmOptions<double> options{.mask = matrixOf(150, 150, places)};
  SpGemmReport report;
  const CsrMatrix<double> c = multiply(Context{}, a, a, options, &report);
  EXPECT_EQ(report.tileGroups, 19u) << report.choice;
  EXPECT_GT(c.entries(), 10u);
  options.algorithm = SpGemmAlgorithm::rows;
  expectSame(c, multiply(Context{}, a, a, options));
  SpGemmPlan<double> plan(Context{}, a, a, {.mask = options.mask});
  expectSame(plan.execute(a.value, a.value), c);
}

TEST(SpGemmOptions, AMaskBoundsTheEntriesOfAProductByRows)
{
  const CsrMatrix<double> a = smallNumbers<double>(50, 50, 1);
  SpGemmOptions<double> options{.algorithm = SpGemmAlgorithm::rows,
                                .mask = matrixOf<double>(50, 50, {{{3, 4}, 1}, {{40, 2}, 1}})};
  EXPECT_EQ(describeProduct(Context{}, a, a, options).entriesBound, 2u);
}

TEST(SpGemmOptions, WhatDoesNotFitTogetherIsSaid)
{
  const CsrMatrix<double> a = smallNumbers<double>(5, 4, 1), b = smallNumbers<double>(4, 6, 2);
  const auto says = [&](const CsrMatrix<double>& left, const SpGemmOptions<double>& options,
                        const std::string& text, ExitCode code = ExitCode::usage) {
    EXPECT_EQ(errorText([&] { multiply(Context{}, left, b, options); }, code), text);
  };
  says(b, {}, "A B: A is 4 x 6 and B 4 x 6. Allowed: as many columns of A as rows of B.");
  SpGemmOptions<double> options;
  options.mask = emptyMatrix<double>(5, 5);
  says(a, options, "A B: mask: 5 x 5 does not fit the product. Allowed: 5 x 6.");
  options = {};
  options.accumulate = emptyMatrix<double>(6, 5);
  says(a, options, "A B: D: 6 x 5 does not fit the product. Allowed: 5 x 6.");
  options = {};
  options.half = true;
  says(a, options,
       "A B: half precision: sums are not in single precision. Allowed: matrices of single precision.");
  options = {};
  options.dropTolerance = -1;
  says(a, options, "A B: tolerance -1.000000: below zero. Allowed: numbers from zero on.");
  options = {};
  options.algorithm = SpGemmAlgorithm::tsparse;
  says(a, options, "A B: algorithm tsparse: it needs a CUDA device. Allowed on the CPU: auto, tiles or rows.",
       ExitCode::device);
  CsrMatrix<double> broken = matrixOf<double>(2, 4, {{{1, 3}, 1}});
  broken.column[0] = 4;
  says(broken, {}, "A: row 1 (from 0): column 4 is outside the matrix. Allowed: columns from 0 to 4 - 1.",
       ExitCode::unreadableInput);
}

TEST(SpGemmIntegers, SumsBeyond64BitsAreAnErrorWhereverTheyArise)
{
  constexpr std::int64_t large = std::int64_t(1) << 32;
  const CsrMatrix<std::int64_t> a = matrixOf<std::int64_t>(9, 2, {{{8, 0}, large}, {{8, 1}, large}});
  const auto times = [&](std::int64_t b) {
    return [&a, b] { multiply(Context{{}, 2}, a, matrixOf<std::int64_t>(2, 1, {{{0, 0}, b}, {{1, 0}, b}})); };
  };
  EXPECT_EQ(errorText(times(large)), "precision int64: row 9 of C: a product or sum is beyond 64 bits. "
                                     "Allowed: smaller integers, or precision f64.");
  EXPECT_EQ(exitCodeOf(times(large / 4)), ExitCode::usage); // 2 * 2^62: the sum alone
  EXPECT_EQ(exitCodeOf(times(large / 8)), ExitCode::done);  // 2 * 2^61
  EXPECT_EQ(exitCodeOf(times(-large / 4)), ExitCode::done); // -2^63 is the last that fits
  for (const std::uint32_t column : {0u, 1u})               // what a mask leaves out does not count
    EXPECT_EQ(exitCodeOf([&] {
                multiply(Context{}, a,
                         matrixOf<std::int64_t>(2, 2, {{{0, 0}, 1}, {{0, 1}, large}, {{1, 1}, large}}),
                         {.mask = matrixOf<std::int64_t>(9, 2, {{{8, column}, 1}})});
              }),
              column == 0 ? ExitCode::done : ExitCode::usage);
}

TEST(SpGemmIntegers, NoWayStaysNoWay)
{
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  SpGemmOptions<std::int64_t> options;
  options.semiring = Semiring::minPlus;
  const CsrMatrix<std::int64_t> a = matrixOf<std::int64_t>(1, 1, {{{0, 0}, none}}),
                                b = matrixOf<std::int64_t>(1, 1, {{{0, 0}, 5}});

  expectSame(multiply(Context{}, a, b, options), a);
}

TEST(SpGemmHalf, RoundsToElevenBitsTiesToEven)
{
  EXPECT_EQ(roundedToHalf(1 + 0x1p-11), 1);
  EXPECT_EQ(roundedToHalf(1 + 3 * 0x1p-11), 1 + 0x1p-9);
  EXPECT_EQ(roundedToHalf(-(1 + 0x1.8p-11)), -(1 + 0x1p-10));
  EXPECT_EQ(roundedToHalf(65504), 65504);
  EXPECT_EQ(roundedToHalf(0x1p-24), 0x1p-24);
  EXPECT_EQ(roundedToHalf(0x1p-25), 0);
  EXPECT_EQ(roundedToHalf(0x1.8p-25), 0x1p-24);
  EXPECT_EQ(roundedToHalf(0), 0);
}

TEST(ConvertedMatrices, NumbersBeyondTheOtherTypeAreRefusedInsteadOfLost)
{
  const Context context;
  const auto one = [](double value) { return matrixOf<double>(1, 1, {{{0, 0}, value}}); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      errorText([&] { converted<float>(context, one(-1e39)); }),
      "single precision: value -1e+39: beyond its range. Allowed: numbers up to 3.4e38, or precision f64.");
  EXPECT_EQ(converted<float>(context, one(-infinity)).value[0], -infinity);
  EXPECT_EQ(converted<float>(context, one(std::numeric_limits<float>::max())).value[0],
            std::numeric_limits<float>::max());
  EXPECT_EQ(errorText([&] { converted<std::int64_t>(context, one(0x1p63)); }),
            "precision int64: value 9223372036854775808: not a whole number of 64 bits. Allowed: integer "
            "matrices, or precision f64.");
}

TEST(SpGemmRanges, RangesPutTogetherAreTheWholeProduct)
{
  const CsrMatrix<double> a = randomMatrix(301, 200, 9, 1), b = randomMatrix(200, 250, 9, 2);
  const CsrMatrix<double> whole = multiply(Context{}, a, b);
  SpGemmOptions<double> options;
  options.maxMemoryBytes = 8 * 12 * 81 * 5;
  EntryMap<double> together;
  std::size_t nextRow = 0;
  SpGemmReport report;

  multiplyInRanges<double>(
      Context{{}, 2}, a, b, options,
      [&](std::size_t firstRow, CsrMatrix<double>&& range) {
        EXPECT_EQ(firstRow, nextRow);
        EXPECT_LE(range.value.size() * 12, options.maxMemoryBytes);
        nextRow += range.rows;
        for (const auto& [place, value] : entriesOf(range))
          together[{place.first + static_cast<std::uint32_t>(firstRow), place.second}] = value;
      },
      &report);

  EXPECT_GT(report.ranges, 5u);
  EXPECT_EQ(nextRow, 301u);
  expectSame(matrixOf<double>(301, 250, together), whole);
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     multiply(Context{{}, 2}, a, b, options);
                   },
                   ExitCode::outOfMemory),
               "A B: C has more than 3240 entries, which do not fit into the memory.");
}

CsrMatrix<float> fullOfOnes(std::size_t rows, std::size_t columns)
{
  CsrMatrix<float> full = emptyMatrix<float>(rows, columns);
  for (std::size_t row = 0; row <= rows; ++row)
    full.rowStart[row] = row * columns;
  full.column = Array<std::uint32_t>(rows * columns);
  for (std::size_t i = 0; i < rows * columns; ++i)
    full.column[i] = static_cast<std::uint32_t>(i % columns);
  full.value = Array<float>(rows * columns, 1.0f);
  return full;
}

TEST(SpGemmRanges, MoreThanTwoToThe31ProductsOnASmallMemory)
{
  constexpr std::size_t rows = 30000, side = 270;
  SpGemmOptions<float> options;
  options.maxMemoryBytes = 1 << 20;
  SpGemmReport report;
  std::uint64_t entries = 0, wrong = 0;

  multiplyInRanges<float>(
      Context{{}, 2}, fullOfOnes(rows, side), fullOfOnes(side, side), options,
      [&](std::size_t, CsrMatrix<float>&& range) {
        entries += range.entries();
        wrong += static_cast<std::uint64_t>(
            std::count_if(range.value.begin(), range.value.end(), [](float v) { return v != side; }));
      },
      &report);

  EXPECT_EQ(report.products, std::uint64_t(rows) * side * side);
  EXPECT_GT(report.products, std::uint64_t(1) << 31);
  EXPECT_GT(report.ranges, 50u);
  EXPECT_EQ(entries, rows * side);
  EXPECT_EQ(wrong, 0u);
}

TEST(SpGemmRanges, TilesAndARangeFitIntoTheLimitTogether)
{
  const CsrMatrix<float> full = fullOfOnes(256, 256); // 1024 tiles of 256 bytes
  constexpr std::uint64_t tileBytes = 1024 * 256, rowBytes = 256 * (sizeof(float) + sizeof(std::uint32_t));
  SpGemmOptions<float> options{.algorithm = SpGemmAlgorithm::tiles, .maxMemoryBytes = 2 * tileBytes};
  SpGemmReport report;
  std::size_t maxRows = 0;

  multiplyInRanges<float>(
      Context{}, full, full, options,
      [&](std::size_t, CsrMatrix<float>&& range) { maxRows = std::max(maxRows, range.rows); }, &report);

  EXPECT_GT(report.ranges, 1u);
  EXPECT_GT(maxRows, 8u);
  EXPECT_LE(tileBytes + maxRows * rowBytes, options.maxMemoryBytes);
}

TEST(SpGemmRanges, TilesThatDoNotFitAreLeftOut)
{
  const CsrMatrix<float> full = fullOfOnes(64, 64); // 64 tiles of 256 bytes
  SpGemmOptions<float> options;
  SpGemmReport report;
  options.maxMemoryBytes = 2 * 64 * 256 + 32768; // and C
  const CsrMatrix<float> byTiles = multiply(Context{}, full, full, options, &report);
  EXPECT_EQ(report.tileGroups, 8u);

  options.maxMemoryBytes = 2 * 64 * 256; // has room for C alone
  expectSame(multiply(Context{}, full, full, options, &report), byTiles);
  EXPECT_EQ(report.choice, "rows: C and the tiles of B do not fit into the memory together");
  EXPECT_EQ(SpGemmPlan<float>(Context{}, full, full, options).execute(full.value, full.value).value[0], 64);

  options.maxMemoryBytes = 2 * 64 * 256 - 1;
  EXPECT_EQ(describeProduct(Context{}, full, full, options).choice,
            "rows: tiles of B would take 0 MiB, more than half of the memory");
  options.algorithm = SpGemmAlgorithm::tiles;
  EXPECT_PRED2(contains, errorText([&] { multiply(Context{}, full, full, options); }),
               "or a larger memory limit.");
}

}
}
