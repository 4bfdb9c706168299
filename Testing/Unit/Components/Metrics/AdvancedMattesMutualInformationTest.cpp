#include "Components/Metrics/AdvancedMattesMutualInformation.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/NaiveParzen.h"

namespace tessera {
namespace {

using namespace testing;
using MI = AdvancedMattesMutualInformation;

constexpr LevelFacts facts{0, 100, 0, 100};
const std::string boxes = "(FixedKernelBSplineOrder 0)\n(MovingKernelBSplineOrder 0)\n";

// A count is rounded to 2^-33, and a bin's term of the sum changes by about its logarithm times that.
constexpr double fixedPointTolerance = 1e-8;

TEST(AdvancedMattesMutualInformationTest, TwoEqualIntensitiesShareOneBit)
{
  EXPECT_NEAR(evaluateMetric<MI>(boxes, facts, {0, 0, 100, 100}, {0, 0, 100, 100}).value, -std::log(2),
              fixedPointTolerance);
}

TEST(AdvancedMattesMutualInformationTest, IndependentIntensitiesShareNothing)
{
  EXPECT_NEAR(evaluateMetric<MI>(boxes, facts, {0, 0, 100, 100}, {0, 100, 0, 100}).value, 0,
              fixedPointTolerance);
}

TEST(AdvancedMattesMutualInformationTest, AgreesWithNaiveHistogramForAllWindows)
{
  const Intensities fixed = randomIntensities(257, 3), moving = relatedIntensities(fixed, 4);
  for (int fixedOrder = 0; fixedOrder <= 3; ++fixedOrder)
    for (int movingOrder = 0; movingOrder <= 3; ++movingOrder) {
      const NaiveParzen naive{17, 24, fixedOrder, movingOrder, 0.01, 0.02};
      const auto h = naive.entropies(facts, fixed, moving);

      EXPECT_NEAR(evaluateMetric<MI>(naive.text(), facts, fixed, moving).value, h.joint - h.fixed - h.moving,
                  fixedPointTolerance)
          << "orders " << fixedOrder << ", " << movingOrder;
    }
}

TEST(AdvancedMattesMutualInformationTest, AgreesWithNaiveHistogramAtAwkwardSizesAndStripes)
{
  for (const std::size_t count : {1, 31, 33, 1001}) {
    const Intensities fixed = randomIntensities(count, 3), moving = relatedIntensities(fixed, 4);
    const auto h = NaiveParzen{}.entropies(facts, fixed, moving);
    const double value = evaluateMetric<MI>("", facts, fixed, moving).value;

    EXPECT_NEAR(value, h.joint - h.fixed - h.moving, fixedPointTolerance) << "count " << count;
    EXPECT_EQ(value, evaluateMetric<MI>("", facts, fixed, moving, 4).value)
        << "integer counts do not depend on stripes";
  }
}

TEST(AdvancedMattesMutualInformationTest, SlopesMatchFiniteDifferencesForAllWindowsThatHaveASlope)
{
  const Intensities fixed = randomIntensities(40, 1), moving = relatedIntensities(fixed, 2);
  for (int fixedOrder = 0; fixedOrder <= 3; ++fixedOrder)
    for (int movingOrder = 1; movingOrder <= 3; ++movingOrder) {
      const NaiveParzen window{16, 16, fixedOrder, movingOrder, 0.01, 0.01};
      // (step / bin)^2 for order 3; at order 1 a bin boundary inside the step would show, and p ln p at its
      // end is steep.
      expectSlopesMatchFiniteDifferences<MI>(window.text(), facts, fixed, moving, 0.01f, 2e-3);
    }
}

TEST(AdvancedMattesMutualInformationTest, OvershootsAreBentTowardsTheLimitWithTheirSlope)
{
  // 103 lies 3 above the largest intensity; the limit is 10 above it.
  const std::string text = "(MovingLimitRangeRatio 0.1)";
  const Intensities fixed = {0, 20, 60, 100, 40, 70}, moving = {-2, 20, 60, 103, 100.5f, 30};
  Intensities bent = moving;
  bent[0] = static_cast<float>(10 * std::exp(-2 / 10.0) - 10);
  bent[3] = static_cast<float>(110 - 10 * std::exp(-3 / 10.0));
  bent[4] = static_cast<float>(110 - 10 * std::exp(-0.5 / 10.0));

  // The same bins without bending: the limits are the largest intensities. 1e-6: `bent` is rounded to float.
  const double expected =
      evaluateMetric<MI>("(MovingLimitRangeRatio 0)", {0, 100, -10, 110}, fixed, bent).value;
  EXPECT_NEAR(evaluateMetric<MI>(text, facts, fixed, moving).value, expected, 1e-6);
  expectSlopesMatchFiniteDifferences<MI>(text, facts, fixed, moving, 0.01f, 2e-3);
}

TEST(AdvancedMattesMutualInformationTest, WithoutRoomOvershootsAreCutOff)
{
  const std::string text = "(MovingLimitRangeRatio 0)";
  const Intensities fixed = {0, 20, 60, 100};

  const auto result = evaluateMetric<MI>(text, facts, fixed, {-50, 20, 60, 170});

  EXPECT_EQ(result.value, evaluateMetric<MI>(text, facts, fixed, {0, 20, 60, 100}).value);
  EXPECT_EQ(result.slopes[0], 0);
  EXPECT_EQ(result.slopes[3], 0);
}

TEST(AdvancedMattesMutualInformationTest, ImagesOfOneIntensityAreHarmless)
{
  const LevelFacts flat{1e7, 1e7, -1e7, -1e7};
  for (const char* text : {"", "(FixedKernelBSplineOrder 3)"})
    EXPECT_NEAR(evaluateMetric<MI>(text, flat, Intensities(9, 1e7f), Intensities(9, -1e7f)).value, 0,
                fixedPointTolerance);
}

TEST(AdvancedMattesMutualInformationTest, RefusesWhatItDoesNotHave)
{
  const auto make = [](const std::string& text) {
    return messageOf([&] { MetricOf<MI>(parametersOf(text, 3, 1, "Metric0")); });
  };

  EXPECT_EQ(make("(FiniteDifferenceDerivative \"true\")"),
            "text:1: (FiniteDifferenceDerivative \"true\"): not available. Allowed: \"false\".");
  EXPECT_EQ(make("(UseJacobianPreconditioning \"true\")"),
            "text:1: (UseJacobianPreconditioning \"true\"): not available. Allowed: \"false\".");
  EXPECT_EQ(
      make("(NumberOfHistogramBins 3)"),
      "text:1: (NumberOfHistogramBins 3): 3 bins with a Parzen window of order 3. Allowed: 4 to 4096 bins.");
  EXPECT_NE(make("(MovingKernelBSplineOrder 4)"), "no error");
  EXPECT_EQ(make("(UseFastAndLowMemoryVersion \"false\")"), "no error");
}

}
}
