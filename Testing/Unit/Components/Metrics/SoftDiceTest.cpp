#include "Components/Metrics/SoftDice.h"

#include "Testing/Support/Checks/MetricChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

constexpr LevelFacts facts{0, 1, 0, 1};

TEST(SoftDiceTest, MatchesValueComputedByHand)
{
  const auto result =
      evaluateMetric<SoftDice>("(ForegroundValue 4)", {0, 4, 0, 4}, {4, 4, 0, 0}, {4, 2, 1, 0});

  // In shares of the label: fixed 1 1 0 0, moving 1 0.5 0.25 0.
  const double both = 1.5, sum = 2 + 1.75;
  EXPECT_DOUBLE_EQ(result.value, 1 - 2 * both / sum);
  EXPECT_FLOAT_EQ(result.slopes[1], static_cast<float>((-2 / sum + 2 * both / (sum * sum)) / 4));
  EXPECT_FLOAT_EQ(result.slopes[2], static_cast<float>(2 * both / (sum * sum) / 4));
}

/// elastix's AdvancedKappaStatistic counts samples; its gradient weighs those inside the fixed foreground by
/// -2 / S + 2 I / S^2 and all others by 2 I / S^2.
TEST(SoftDiceTest, OnImagesOfTwoIntensitiesItIsTheKappaStatisticOfElastix)
{
  Intensities fixed = randomIntensities(1001, 5, 0, 1), moving = randomIntensities(1001, 6, 0, 1);
  double inFixed = 0, inMoving = 0, inBoth = 0;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    fixed[i] = fixed[i] < 0.3f ? 1 : 0;
    moving[i] = moving[i] < 0.6f ? 1 : 0;
    inFixed += fixed[i] == 1;
    inMoving += moving[i] == 1;
    inBoth += fixed[i] == 1 && moving[i] == 1;
  }
  const double sum = inFixed + inMoving;

  const auto result = evaluateMetric<SoftDice>("", facts, fixed, moving);

  EXPECT_DOUBLE_EQ(result.value, 1 - 2 * inBoth / sum);
  for (std::size_t i = 0; i < fixed.size(); ++i)
    ASSERT_FLOAT_EQ(result.slopes[i],
                    static_cast<float>((fixed[i] == 1 ? -2 / sum : 0) + 2 * inBoth / (sum * sum)));
}

TEST(SoftDiceTest, SlopesMatchFiniteDifferences)
{
  const Intensities fixed = randomIntensities(50, 1), moving = randomIntensities(50, 2);

  // The value is a quotient of linear functions: a step of a 10000th of the sum is off by 1e-8 of the slope.
  // Slopes are rounded to float.
  expectSlopesMatchFiniteDifferences<SoftDice>("(ForegroundValue 100)", {0, 100, 0, 100}, fixed, moving, 0.5f,
                                               1e-6);
}

TEST(SoftDiceTest, AgreesWithNaiveSumAtAwkwardSizesAndStripes)
{
  for (const std::size_t count : {1, 31, 32, 33, 255, 257, 10007}) {
    const Intensities fixed = randomIntensities(count, 3, 0, 1), moving = randomIntensities(count, 4, 0, 1);
    double products = 0, intensities = 0;
    for (std::size_t i = 0; i < count; ++i) {
      products += double(fixed[i]) * moving[i];
      intensities += double(fixed[i]) + moving[i];
    }

    for (const std::size_t stripes : {1, 3})
      EXPECT_NEAR(evaluateMetric<SoftDice>("", facts, fixed, moving, stripes).value,
                  1 - 2 * products / intensities,
                  1e-16 * static_cast<double>(count + 10)) // roundings of sums in double
          << "count " << count;
  }
}

TEST(SoftDiceTest, WithoutForegroundNothingOverlaps)
{
  EXPECT_EQ(evaluateMetric<SoftDice>("", facts, {}, {}).value, 1);
  const auto result = evaluateMetric<SoftDice>("", facts, {0, 0}, {0, 0});
  EXPECT_EQ(result.value, 1);
  EXPECT_EQ(result.slopes, (Intensities{0, 0}));
}

TEST(SoftDiceTest, OtherImagesThanThoseOfOneLabelAreRefused)
{
  const auto message = [](const std::string& text, const LevelFacts& ofLevel) {
    return messageOf([&] { SoftDice(parametersOf(text, 3, 1, "Metric0"), 0, ofLevel); });
  };
  const std::string tooHigh = message("(ForegroundValue 2)", {0, 2, 0, 255}),
                    negative = message("", {-1000, 1, 0, 1});

  EXPECT_PRED2(contains, tooHigh,
               "(ForegroundValue 2): SoftDice: the intensities of the images reach from 0 to 255. Allowed: "
               "images of one label, with intensities from 0 to ForegroundValue (2).");
  EXPECT_PRED2(contains, negative, "reach from -1000 to 1.");
  EXPECT_EQ(message("", {-0.005, 1.005, 0, 1}), "no error") << "a smoothing filter may overshoot";
}

}
}
