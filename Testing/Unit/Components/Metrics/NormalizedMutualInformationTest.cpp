#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Testing/Support/Naive/NaiveParzen.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;
using NMI = NormalizedMutualInformation;

constexpr LevelFacts facts{0, 100, 0, 100};
const std::string boxes = "(FixedKernelBSplineOrder 0)\n(MovingKernelBSplineOrder 0)\n";
constexpr double fixedPointTolerance = 1e-8; // counts are rounded to 2^-33

TEST(NormalizedMutualInformationTest, EqualImagesGiveMinusTwoAndIndependentOnesMinusOne)
{
  EXPECT_NEAR(evaluateMetric<NMI>(boxes, facts, {0, 0, 100, 100}, {0, 0, 100, 100}).value, -2,
              fixedPointTolerance);
  EXPECT_NEAR(evaluateMetric<NMI>(boxes, facts, {0, 0, 100, 100}, {0, 100, 0, 100}).value, -1,
              fixedPointTolerance);
}

TEST(NormalizedMutualInformationTest, AgreesWithNaiveEntropiesAtAwkwardSizesAndStripes)
{
  for (const std::size_t count : {2, 31, 33, 1001}) {
    const Intensities fixed = randomIntensities(count, 3), moving = relatedIntensities(fixed, 4);
    const auto h = NaiveParzen{}.entropies(facts, fixed, moving);
    const double value = evaluateMetric<NMI>("", facts, fixed, moving).value;

    EXPECT_NEAR(value, -(h.fixed + h.moving) / h.joint, fixedPointTolerance) << "count " << count;
    EXPECT_EQ(value, evaluateMetric<NMI>("", facts, fixed, moving, 4).value)
        << "integer counts do not depend on stripes";
  }
}

TEST(NormalizedMutualInformationTest, SlopesMatchFiniteDifferences)
{
  const Intensities fixed = randomIntensities(40, 1), moving = relatedIntensities(fixed, 2);
  for (int fixedOrder = 0; fixedOrder <= 3; ++fixedOrder) // (step / bin)^2
    expectSlopesMatchFiniteDifferences<NMI>(NaiveParzen{16, 16, fixedOrder, 3, 0.01, 0.01}.text(), facts,
                                            fixed, moving, 0.01f, 2e-3);
}

TEST(NormalizedMutualInformationTest, TheUnitOfIntensitiesChangesNothing)
{
  const Intensities fixed = randomIntensities(500, 1), moving = relatedIntensities(fixed, 2);
  const auto inUnits = [&](float unit) {
    Intensities scaledFixed = fixed, scaledMoving = moving;
    for (Intensities* const list : {&scaledFixed, &scaledMoving})
      for (float& value : *list)
        value *= unit;
    auto found = evaluateMetric<NMI>("", {0, 100.0f * unit, 0, 100.0f * unit}, scaledFixed, scaledMoving);
    for (float& slope : found.slopes)
      slope *= unit;
    return found;
  };
  const auto one = inUnits(1);
  for (const float unit : {std::ldexp(1.0f, 66), std::ldexp(1.0f, -66)}) { // exact in floats
    EXPECT_NEAR(inUnits(unit).value, one.value, fixedPointTolerance);
    EXPECT_EQ(inUnits(unit).slopes, one.slopes);
  }
}

TEST(NormalizedMutualInformationTest, ImagesOfOneIntensityHaveNoValueAndNoSlope)
{
  const auto result = evaluateMetric<NMI>(boxes, {5, 5, 5, 5}, {5, 5}, {5, 5});

  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.slopes, Intensities(2, 0.0f));
}

}
}
