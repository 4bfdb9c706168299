#include "Components/Metrics/AdvancedNormalizedCorrelation.h"

#include "Testing/Support/Checks/MetricChecks.h"

namespace tessera {
namespace {

using namespace testing;

constexpr LevelFacts facts{0, 100, 0, 100};

double naiveCorrelation(const Intensities& fixed, const Intensities& moving, bool subtractMean)
{
  double f = 0, m = 0, ff = 0, mm = 0, fm = 0;
  for (std::size_t i = 0; subtractMean && i < fixed.size(); ++i) {
    f += fixed[i] / static_cast<double>(fixed.size());
    m += moving[i] / static_cast<double>(fixed.size());
  }
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    ff += (fixed[i] - f) * (fixed[i] - f);
    mm += (moving[i] - m) * (moving[i] - m);
    fm += (fixed[i] - f) * (moving[i] - m);
  }
  return -fm / std::sqrt(ff * mm);
}

TEST(AdvancedNormalizedCorrelationTest, MatchesValueComputedByHand)
{
  // Deviations (-1, 0, 1) and (0, 2, -2): -(-2) / sqrt(2 * 8)
  EXPECT_DOUBLE_EQ(evaluateMetric<AdvancedNormalizedCorrelation>("", facts, {1, 2, 3}, {2, 4, 0}).value, 0.5);
}

TEST(AdvancedNormalizedCorrelationTest, WithoutSubtractionItIsACosine)
{
  // (3, 4) . (4, 3) = 24, both of length 5
  EXPECT_DOUBLE_EQ(
      evaluateMetric<AdvancedNormalizedCorrelation>("(SubtractMean \"false\")", facts, {3, 4}, {4, 3}).value,
      -24 / 25.0);
}

TEST(AdvancedNormalizedCorrelationTest, SlopesMatchFiniteDifferences)
{
  const Intensities fixed = randomIntensities(40, 1), moving = relatedIntensities(fixed, 2);

  for (const char* text : {"", "(SubtractMean \"false\")"}) // step^2 over the variance, and float slopes
    expectSlopesMatchFiniteDifferences<AdvancedNormalizedCorrelation>(text, facts, fixed, moving, 0.05f,
                                                                      1e-5);
}

TEST(AdvancedNormalizedCorrelationTest, AgreesWithNaiveSumAtAwkwardSizesAndStripes)
{
  for (const std::size_t count : {2, 31, 33, 257, 10007}) {
    const Intensities fixed = randomIntensities(count, 3, 900, 1000), moving = relatedIntensities(fixed, 4);

    for (const std::size_t stripes : {1, 3})
      EXPECT_NEAR(evaluateMetric<AdvancedNormalizedCorrelation>("", facts, fixed, moving, stripes).value,
                  naiveCorrelation(fixed, moving, true),
                  1e-10) // 1000^2 over a variance of 800, times 1e-16 and the count
          << "count " << count;
  }
}

TEST(AdvancedNormalizedCorrelationTest, AnImageWithoutContrastHasNoValueAndNoSlope)
{
  const auto result = evaluateMetric<AdvancedNormalizedCorrelation>("", facts, {5, 5, 5}, {1, 2, 3});

  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.slopes, Intensities(3, 0.0f));
}

}
}
