#include "Components/Optimizers/Shared/StepSizeEstimation.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

#include <algorithm>
#include <numeric>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double rounding = 1e-12; // a few roundings of numbers below 100, and the method's own 1e-14

double squaredNorm(std::span<const double> v)
{
  return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
}

}

TEST(Sigmoid, PassesZeroAndNearsItsBounds)
{
  const Sigmoid sigmoid{1, -0.25, 0.5}; // beta = ln(4) / 2

  EXPECT_NEAR(sigmoid(0), 0, 1e-15);                          // roundings of 1.25 / 5 - 0.25
  EXPECT_NEAR(sigmoid(0.5 * std::log(4.0)), 0.375, rounding); // half way at beta
  EXPECT_NEAR(sigmoid(0.5), -0.25 + 1.25 / (1 + 4 * std::exp(-1.0)), rounding);
  EXPECT_EQ(sigmoid(1e6), 1);
  EXPECT_EQ(sigmoid(-1e6), -0.25);
}

TEST(StepSizeEstimation, AsksForAsManyGradientsAsTheirVarianceNeeds)
{
  EXPECT_EQ(gradientMeasurementsFor({2, 2, 0, 0}), 16u); // translation in 2D: C = I, 8 * 2 / 4 / 0.25
  EXPECT_EQ(gradientMeasurementsFor({3, 3, 0, 0}), 11u); // translation in 3D, as elastix logs it
  EXPECT_EQ(gradientMeasurementsFor({1000, 1, 0, 0}), 2u);
  EXPECT_EQ(gradientMeasurementsFor({0, 0, 0, 0}), 2u);
}

TEST(StepSizeEstimation, FollowsKleinsFormulas)
{
  StepSizeSettings settings{.A = 10, .maximumStepMm = 0.5, .sigmoidScaleFactor = 0.2};

  const StepSizes steps = originalStepSizes(settings, {4, 9, 0, 16}, {16, 12});

  // sigma1^2 = 4, sigma3^2 = 3
  EXPECT_NEAR(steps.a, 10 * 0.5 / 2 / 4 * 4 / 7, rounding);
  EXPECT_EQ(steps.alpha, 1);
  EXPECT_EQ(steps.sigmoid.maximum, 1);
  EXPECT_NEAR(steps.sigmoid.minimum, -0.99 + 0.98 * 4 / 7, rounding);
  EXPECT_NEAR(steps.sigmoid.scale, 0.2 * 3 * 3, rounding);
}

TEST(StepSizeEstimation, LeavesTheSigmoidAloneIfAsked)
{
  StepSizeSettings settings;
  settings.method = StepSizeMethod::originalButSigmoidToDefault;

  const StepSizes steps = originalStepSizes(settings, {4, 9, 0, 16}, {16, 12});

  EXPECT_NEAR(steps.a, 20 * 1.0 / 2 / 4 * 4 / 7, rounding);
  EXPECT_EQ(steps.sigmoid.minimum, -0.8);
  EXPECT_EQ(steps.sigmoid.scale, 1e-8);
}

TEST(StepSizeEstimation, TakesNoStepWhereNothingIsMeasured)
{
  EXPECT_EQ(originalStepSizes({}, {4, 9, 2, 16}, {0, 0}).a, 0);
  EXPECT_EQ(originalStepSizes({}, {0, 0, 0, 0}, {1, 0}).a, 0);
  EXPECT_EQ(perturbationFor({0, 0, 0, 0}, 1), 0);
  EXPECT_EQ(perturbationFor({0, 0, 4, 0}, 3), 1.5);
}

TEST(StepSizeEstimation, FindsLargeDisplacements)
{
  std::vector<double> hundred(100);
  std::iota(hundred.rbegin(), hundred.rend(), 1);

  EXPECT_NEAR(largeDisplacement({5, 1, 3, 2, 4}, false), 3 + 2 * std::sqrt(2.0), rounding);
  EXPECT_NEAR(largeDisplacement(hundred, true), 96, rounding); // mean of the 95th to the 97th of 100
  EXPECT_EQ(largeDisplacement({7}, true), 7);
  EXPECT_EQ(largeDisplacement({7}, false), 7);
  EXPECT_THROW(largeDisplacement({}, false), Error);
}

GradientPower measured(AnalyticCost& cost, const std::vector<double>& position, double perturbation,
                       std::size_t count, std::size_t exactGradientSamples)
{
  std::vector<Buffer<double>> vectors = makeVectors(cost.context(), 3, position.size());
  return measureGradients(cost, position, perturbation, count, exactGradientSamples, vectors);
}

TEST(StepSizeEstimation, MeasuresGradientsAsANaiveLoopDoes)
{
  const std::size_t count = 5;
  const std::vector<double> position{1, 2, 3, 4, 5}, weights{1, 2, 3, 4, 5}, centre{0.5, 0.5, 0.5, 0.5, 0.5};
  const auto formula = quadratic(weights, centre);
  AnalyticCost cost(count, formula);
  cost.newSamples = cost.random = true;
  cost.noise = {0.1, -0.2, 0.3, -0.4, 0.5};

  const GradientPower power = measured(cost, position, 0.3, 7, 321);

  double naive = 0;
  ASSERT_EQ(cost.evaluatedOnGrid.size(), 7u);
  for (const auto& perturbed : cost.evaluatedOnGrid) {
    std::vector<double> gradient(count);
    formula(perturbed, gradient);
    naive += squaredNorm(gradient) / 7;
  }
  EXPECT_NEAR(power.exact, naive, 1e-14 * naive); // order of a few dozen additions
  EXPECT_NEAR(power.error, squaredNorm(cost.noise),
              1e-12); // cancellation of gradients below 30 leaves 30 * 2e-16 each
  EXPECT_EQ(cost.evaluated, cost.evaluatedOnGrid);
  EXPECT_EQ(cost.gridWanted, std::vector<std::size_t>(7, 321));
  EXPECT_EQ(std::set<AnalyticCost::DrawKey>(cost.draws.begin(), cost.draws.end()).size(),
            8u); // 7 of its own, then iteration 0
  EXPECT_EQ(cost.draws.back(), (AnalyticCost::DrawKey{0, 0}));
}

TEST(StepSizeEstimation, TakesSamplersGradientsAsExactIfSamplesNeverChange)
{
  AnalyticCost cost(2, linear({3, 4}));
  cost.random = true; // but not new every iteration

  const GradientPower power = measured(cost, std::vector<double>{0, 0}, 1, 3, 321);

  EXPECT_NEAR(power.exact, 25, rounding);
  EXPECT_EQ(power.error, 0);
  EXPECT_TRUE(cost.draws.empty());
  EXPECT_TRUE(cost.evaluatedOnGrid.empty());
}

TEST(StepSizeEstimation, PerturbsEveryParameterNormallyAndDifferentlyEachTime)
{
  const std::size_t count = 4003; // no multiple of the four numbers a draw gives
  AnalyticCost cost(count, linear(std::vector<double>(count, 1)));

  measured(cost, std::vector<double>(count, 10), 0.5, 3, 1);

  for (const auto& perturbed : cost.evaluated) {
    const double mean = std::accumulate(perturbed.begin(), perturbed.end(), 0.0) / count;
    double variance = 0;
    for (double value : perturbed)
      variance += (value - mean) * (value - mean) / count;
    EXPECT_NEAR(mean, 10, 5 * 0.5 / std::sqrt(count)); // five standard errors
    EXPECT_NEAR(variance, 0.25, 5 * 0.25 * std::sqrt(2.0 / count));
    EXPECT_EQ(std::set<double>(perturbed.begin(), perturbed.end()).size(), count);
  }
  EXPECT_NE(cost.evaluated[0], cost.evaluated[1]);
  EXPECT_NE(cost.evaluated[1], cost.evaluated[2]);
}

TEST(StepSizeEstimation, SaysWhenNoSampleLiesInsideTheMask)
{
  AnalyticCost cost(1, linear({1}));
  cost.jacobianSamples = 0;

  std::vector<Buffer<double>> vectors = makeVectors(cost.context(), 4, 1);
  const std::string message = errorText([&] { estimateStepSizes(cost, {}, std::vector<double>{0}, vectors); },
                                        ExitCode::registrationFailed);
  EXPECT_PRED2(contains, message, "1000 samples asked for: none lies inside the fixed mask.");
  EXPECT_PRED2(contains, message, "estimating step sizes");
}
