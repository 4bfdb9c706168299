#include "Components/Optimizers/RegularStepGradientDescent.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double rounding = 1e-12; // a few roundings of numbers below 100

}

TEST(RegularStepGradientDescent, HalvesItsStepsAtTurnsAndStopsWhenTheyAreShort)
{
  RegularStepGradientDescent descent(parametersOf("(MaximumStepLength 1)\n(MinimumStepLength 0.3)"));
  AnalyticCost cost(1, quadratic({1}, {0}));
  cost.inverseRoots = {0.5}; // scale 4: y = 2 x

  const OptimizerRun run = runOptimizer(descent, cost, {1.5});

  // x: 0.75, then -0.25 by a step of 1, then 0.25 by a step of 0.5; the next step of 0.25 is too short
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_NEAR(run.positions[0][0], -0.5, rounding);
  EXPECT_NEAR(run.positions[1][0], 0.5, rounding);
  EXPECT_NEAR(run.rows[0].columns[0], 1, rounding);
  EXPECT_NEAR(run.rows[1].columns[0], 0.5, rounding);
  EXPECT_NEAR(run.rows[0].columns[1], 3, rounding); // d value / d x = 4 x
  EXPECT_NEAR(run.rows[1].columns[1], 1, rounding);
  EXPECT_NEAR(run.report.value, 0.125, rounding);
  EXPECT_EQ(run.report.iterations, 2u);
  EXPECT_EQ(run.report.stopCondition, "Minimum step size has been reached.");
}

TEST(RegularStepGradientDescent, MeasuresStepsInParametersWhateverTheScales)
{
  RegularStepGradientDescent descent(parametersOf("(MaximumStepLength 2)\n(MaximumNumberOfIterations 1)"));
  const std::vector<double> scales{100, 1, 4}, slopeInX{30, -0.5, 2};
  std::vector<double> slopeInY(3);
  AnalyticCost cost(3, [&](std::span<const double>, std::span<double> gradient) {
    std::copy(slopeInY.begin(), slopeInY.end(), gradient.begin());
    return 1.0;
  });
  for (std::size_t i = 0; i < 3; ++i) {
    cost.inverseRoots[i] = 1 / std::sqrt(scales[i]);
    slopeInY[i] = slopeInX[i] * cost.inverseRoots[i];
  }

  const OptimizerRun run = runOptimizer(descent, cost, {0, 0, 0});

  const double direction[] = {30.0 / 100, -0.5, 2.0 / 4}; // slope / scale
  const double norm = std::sqrt(0.3 * 0.3 + 0.5 * 0.5 + 0.5 * 0.5);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(run.final[i] * cost.inverseRoots[i], -2 * direction[i] / norm, rounding) << i;
  EXPECT_NEAR(run.rows[0].columns[1], std::sqrt(30 * 30 + 0.5 * 0.5 + 2 * 2), rounding);
}

TEST(RegularStepGradientDescent, StartsEachLevelWithHalfTheStepOfTheOneBefore)
{
  RegularStepGradientDescent descent(parametersOf("(MaximumNumberOfIterations 1)", 3, 3));
  for (std::size_t level = 0; level < 3; ++level) {
    AnalyticCost cost(1, linear({-1}));

    const OptimizerRun run = runOptimizer(descent, cost, {0}, level);

    EXPECT_EQ(run.final[0], 16.0 / (1 << level));
  }
}

TEST(RegularStepGradientDescent, StopsBelowTheMinimumStepOfTheLevel)
{
  RegularStepGradientDescent descent(
      parametersOf("(MaximumStepLength 1)\n(MaximumNumberOfIterations 100)", 3, 3));
  const std::size_t rows[] = {2, 3, 4}; // steps 1, 0.5, 0.25, 0.125 down to 0.5, 0.25, 0.125
  for (std::size_t level = 0; level < 3; ++level) {
    double slope = 1;
    AnalyticCost cost(1, [&](std::span<const double>, std::span<double> gradient) {
      gradient[0] = slope = -slope; // turns at every step
      return 0.0;
    });

    const OptimizerRun run = runOptimizer(descent, cost, {0}, level);

    EXPECT_EQ(run.rows.size(), rows[level]) << "level " << level;
  }
}

TEST(RegularStepGradientDescent, StopsWhereTheGradientVanishes)
{
  RegularStepGradientDescent descent(parametersOf("(MinimumGradientMagnitude 0)"));
  AnalyticCost cost(2, quadratic({1, 1}, {3, 4}));

  const OptimizerRun run = runOptimizer(descent, cost, {3, 4});

  EXPECT_TRUE(run.rows.empty());
  EXPECT_EQ(run.final, (std::vector<double>{3, 4}));
  EXPECT_EQ(run.report.stopCondition, "Minimum gradient magnitude has been reached.");
}

TEST(RegularStepGradientDescent, RejectsAFactorThatDoesNotShortenSteps)
{
  EXPECT_EQ(errorText([] { RegularStepGradientDescent(parametersOf("(RelaxationFactor 1)")); }),
            "text:1: (RelaxationFactor 1): steps would not become shorter. Allowed: a number of at least 0 "
            "and less than 1.");
}
