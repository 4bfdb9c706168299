#include "Components/Metrics/AdvancedMeanSquares.h"

#include "Testing/Support/Checks/MetricChecks.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

constexpr LevelFacts facts{0, 100, -20, 80};

TEST(AdvancedMeanSquaresTest, MatchesValueComputedByHand)
{
  const auto result = evaluateMetric<AdvancedMeanSquares>("", facts, {1, 2, 3}, {1, 4, 0});

  EXPECT_DOUBLE_EQ(result.value, (0 + 4 + 9) / 3.0);
  EXPECT_FLOAT_EQ(result.slopes[1], 2 * 2 / 3.0f);
}

TEST(AdvancedMeanSquaresTest, NormalizationIsAHundredOverTheLargestDifferenceSquared)
{
  const auto result =
      evaluateMetric<AdvancedMeanSquares>("(UseNormalization \"true\")", facts, {1, 2, 3}, {1, 4, 0});

  const double largest = 120; // 100 - (-20)
  EXPECT_DOUBLE_EQ(result.value, (0 + 4 + 9) / 3.0 * 100 / (largest * largest));
  EXPECT_FLOAT_EQ(result.slopes[2], static_cast<float>(2 * -3 / 3.0 * 100 / (largest * largest)));
}

TEST(AdvancedMeanSquaresTest, SlopesMatchFiniteDifferences)
{
  const Intensities fixed = randomIntensities(50, 1), moving = randomIntensities(50, 2);

  // Quadratic: central differences are exact but for rounding of slopes to float.
  expectSlopesMatchFiniteDifferences<AdvancedMeanSquares>("", facts, fixed, moving, 0.5f, 1e-6);
}

TEST(AdvancedMeanSquaresTest, OutliersCountAsTheirDifferenceAtMost)
{
  const auto result =
      evaluateMetric<AdvancedMeanSquares>("(OutlierDifference 10)", facts, {0, 0, 0}, {1, 10, -2000});

  const double ofOutlier = 2000.0 * 2000 / (1 + 2000.0 * 2000 / 100);
  EXPECT_DOUBLE_EQ(result.value, (1 / 1.01 + 50 + ofOutlier) / 3);
  EXPECT_FLOAT_EQ(result.slopes[1], 2 * 10 / 4.0f / 3);
  EXPECT_LT(std::abs(result.slopes[2]), 1e-5);
}

TEST(AdvancedMeanSquaresTest, TheBoundOfOutliersMayBeAShareOfTheFixedRange)
{
  const Intensities fixed = randomIntensities(50, 5), moving = randomIntensities(50, 6);
  const auto share = evaluateMetric<AdvancedMeanSquares>(
      "(OutlierDifference 0.25)\n(IntensityBoundUnit \"FixedImageRange\")", facts, fixed, moving);

  EXPECT_EQ(share.value,
            evaluateMetric<AdvancedMeanSquares>("(OutlierDifference 25)", facts, fixed, moving).value);
}

TEST(AdvancedMeanSquaresTest, ABoundBeyondTheRangeIsToldOnceForAllLevels)
{
  std::vector<std::string> told;
  const Parameters parameters = parametersOf("(OutlierDifference 200 100 50)", 3, 3, "",
                                             [&](const std::string& line) { told.push_back(line); });
  for (std::size_t level = 0; level < 3; ++level)
    AdvancedMeanSquares(parameters, level, {0, 250, 0, 1});
  EXPECT_TRUE(told.empty());
  for (std::size_t level = 0; level < 3; ++level)
    AdvancedMeanSquares(parameters, level, {0, 1, 0, 1});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with("text:1: (OutlierDifference 200 100 50): level 0: 200 exceeds the range of "
                                  "the fixed image, 1: no difference is an outlier"))
      << told[0];
}

TEST(AdvancedMeanSquaresTest, SlopesWithOutliersMatchFiniteDifferences)
{
  const Intensities fixed = randomIntensities(50, 5), moving = randomIntensities(50, 6);

  expectSlopesMatchFiniteDifferences<AdvancedMeanSquares>("(OutlierDifference 30)", facts, fixed, moving,
                                                          0.01f, 1e-5);
}

TEST(AdvancedMeanSquaresTest, AgreesWithNaiveSumAtAwkwardSizesAndStripes)
{
  for (const std::size_t count : {1, 31, 32, 33, 255, 257, 10007}) {
    const Intensities fixed = randomIntensities(count, 3), moving = randomIntensities(count, 4);
    double naive = 0;
    for (std::size_t i = 0; i < count; ++i)
      naive += (double(moving[i]) - fixed[i]) * (double(moving[i]) - fixed[i]) / static_cast<double>(count);

    for (const std::size_t stripes : {1, 3})
      EXPECT_NEAR(evaluateMetric<AdvancedMeanSquares>("", facts, fixed, moving, stripes).value, naive,
                  1e-16 * static_cast<double>(count + 10) * naive) // roundings of sums in double
          << "count " << count;
  }
}

TEST(AdvancedMeanSquaresTest, NoSampleIsZeroAndNotANumberNeither)
{
  EXPECT_EQ(evaluateMetric<AdvancedMeanSquares>("", facts, {}, {}).value, 0);
}

}
}
