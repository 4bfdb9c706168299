#include "Components/Optimizers/AdaptiveStochasticGradientDescent.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double rounding = 1e-12; // a few roundings of numbers below 100

const std::string manual =
    "(AutomaticParameterEstimation \"false\")\n(SP_a 1)\n(SP_A 1)\n(SP_alpha 1)\n(SigmoidMax 1)\n"
    "(SigmoidMin -0.5)\n(SigmoidScale 1)\n(MaximumNumberOfIterations 3)\n";

/// Sigmoid of `manual`: beta = ln 2.
double manualSigmoid(double x)
{
  return -0.5 + 1.5 / (1 + 2 * std::exp(-x));
}

AnalyticCost costWithNoise()
{
  AnalyticCost cost(2, linear({3, 4}));
  cost.newSamples = cost.random = true;
  cost.noise = {1, 2};
  cost.terms = {4, 9, 2, 16};
  return cost;
}

double setting(const OptimizerReport& report, const std::string& name)
{
  const auto entry = std::find_if(report.settings.begin(), report.settings.end(),
                                  [&](const FileEntry& e) { return e.name == name; });
  return entry == report.settings.end() ? std::nan("") : entry->numbers.at(0);
}

}

TEST(AdaptiveStochasticGradientDescent, TakesTheFirstThreeStepsComputedByHand)
{
  AdaptiveStochasticGradientDescent descent(parametersOf(manual));
  AnalyticCost cost(1, quadratic({3}, {0}));

  const OptimizerRun run = runOptimizer(descent, cost, {1});

  // y: 1, -0.5, 0.25; gradients 3, -1.5, 0.75; the first time step needs two gradients
  const double time = manualSigmoid(4.5);
  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_NEAR(run.positions[0][0], -0.5, rounding);
  EXPECT_NEAR(run.positions[1][0], 0.25, rounding);
  EXPECT_NEAR(run.positions[2][0], 0.25 - 0.75 / (2 + time), rounding);
  const double times[] = {0, 0, time}, norms[] = {3, 1.5, 0.75}, values[] = {1.5, 0.375, 0.09375};
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(run.rows[k].columns[0], times[k], rounding);
    EXPECT_NEAR(run.rows[k].columns[1], 1 / (2 + times[k]), rounding);
    EXPECT_NEAR(run.rows[k].columns[2], norms[k], rounding);
    EXPECT_NEAR(run.rows[k].value, values[k], rounding);
  }
  EXPECT_EQ(descent.columns(), (std::vector<std::string>{"3a:Time", "3b:StepSize", "4:||Gradient||"}));
}

TEST(AdaptiveStochasticGradientDescent, NeverLetsTimeFallBelowZero)
{
  AdaptiveStochasticGradientDescent descent(parametersOf(manual + "(SigmoidInitialTime 0.1)"));
  AnalyticCost cost(1, linear({2})); // gradients agree, so time runs back by nearly 0.5 an iteration

  const OptimizerRun run = runOptimizer(descent, cost, {0});

  EXPECT_EQ(run.rows[0].columns[0], 0.1);
  EXPECT_EQ(run.rows[1].columns[0], 0.1);
  EXPECT_EQ(run.rows[2].columns[0], 0);
}

TEST(AdaptiveStochasticGradientDescent, LetsTimeRunEvenlyWithoutAdaptiveSteps)
{
  for (const std::string key : {"(UseAdaptiveStepSizes \"false\")", "(UseCruzAcceleration \"false\")",
                                "(UseCruzAcceleration \"true\")\n(UseAdaptiveStepSizes \"false\")"}) {
    AdaptiveStochasticGradientDescent descent(parametersOf(manual + key));
    AnalyticCost cost(1, linear({2}));

    const OptimizerRun run = runOptimizer(descent, cost, {0});

    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(run.rows[k].columns[0], 0.25 * static_cast<double>(k), rounding) << key;
  }
}

TEST(AdaptiveStochasticGradientDescent, KeepsAConstantStepIfAsked)
{
  AdaptiveStochasticGradientDescent descent(parametersOf(manual + "(UseConstantStep \"true\")"));
  AnalyticCost cost(1, linear({2}));

  const OptimizerRun run = runOptimizer(descent, cost, {0});

  EXPECT_NEAR(run.final[0], -3, rounding); // three steps of 2 * 1 / (1 + 1)
  EXPECT_EQ(run.rows[2].columns[1], 0.5);
}

TEST(AdaptiveStochasticGradientDescent, BoundsTheStepsOfASteepCostToMaximumStepLength)
{
  for (const std::string given : {"(MaximumStepLength 0.5)", "(MaximumStepLengthRatio 0.25)"}) {
    AdaptiveStochasticGradientDescent descent(parametersOf(manual + given));
    AnalyticCost cost(3, linear({2, -3000, 0.2}));
    cost.spacingMm = 2;
    EXPECT_NEAR(runOptimizer(descent, cost, {0, 0, 0}).positions[0][1], 1500, 1e-9) << given;

    cost.steep = true;
    const OptimizerRun run = runOptimizer(descent, cost, {0, 0, 0});

    EXPECT_EQ(run.positions[0], (std::vector<double>{-0.5, 0.5, -0.1})) << given; // gradients times 1 / 2
    for (std::size_t k = 1; k < run.positions.size(); ++k)
      EXPECT_NEAR(run.positions[k][1] - run.positions[k - 1][1], 0.5, rounding) << given;
  }
}

TEST(AdaptiveStochasticGradientDescent, EstimatesItsParametersAtTheLevelsStart)
{
  AdaptiveStochasticGradientDescent descent(parametersOf("(MaximumNumberOfIterations 2)"));
  AnalyticCost cost = costWithNoise();
  cost.spacingMm = 0.5;

  const OptimizerRun run = runOptimizer(descent, cost, {0, 0});

  const double noiseFactor = 25.0 / 30; // |(3, 4)|^2 against |(1, 2)|^2 more
  EXPECT_NEAR(setting(run.report, "SP_a"), 20 * 0.5 / 2.5 / 4 * noiseFactor, rounding);
  EXPECT_EQ(setting(run.report, "SP_A"), 20);
  EXPECT_EQ(setting(run.report, "SP_alpha"), 1);
  EXPECT_EQ(setting(run.report, "SigmoidMax"), 1);
  EXPECT_NEAR(setting(run.report, "SigmoidMin"), -0.99 + 0.98 * noiseFactor, rounding);
  EXPECT_NEAR(setting(run.report, "SigmoidScale"), 0.1 * 1.25 * 3, rounding);
  EXPECT_NEAR(run.rows[0].columns[1], setting(run.report, "SP_a") / 21, rounding);
  EXPECT_EQ(cost.jacobianWanted, (std::vector<std::size_t>{1000}));
  EXPECT_EQ(cost.gridWanted, std::vector<std::size_t>(18, 100000)); // ceil(8 * 9 / 16 / 0.25)
  EXPECT_EQ(std::count(cost.lines.begin(), cost.lines.end(),
                       "  NumberOfGradientMeasurements to estimate sigma_i: 18"),
            1);
  EXPECT_EQ(cost.draws[cost.draws.size() - 2],
            (AnalyticCost::DrawKey{0, 0})); // back to the first iteration's samples
}

TEST(AdaptiveStochasticGradientDescent, PrefersAGivenMaximumStepLengthToTheRatio)
{
  for (const auto& [text, length] : {std::pair{"(MaximumStepLength 3)\n(MaximumStepLengthRatio 7)", 3.0},
                                     std::pair{"(MaximumStepLengthRatio 7)", 3.5}}) {
    AdaptiveStochasticGradientDescent descent(
        parametersOf(std::string(text) + "\n(MaximumNumberOfIterations 1)"));
    AnalyticCost cost = costWithNoise();
    cost.spacingMm = 0.5;

    const OptimizerRun run = runOptimizer(descent, cost, {0, 0});

    EXPECT_NEAR(setting(run.report, "SP_a"), 20 * length / 2.5 / 4 * 25 / 30, rounding);
  }
}

TEST(AdaptiveStochasticGradientDescent, SwitchesAdaptiveStepsAndRegionsOffForRandomRegions)
{
  AdaptiveStochasticGradientDescent descent(parametersOf("(MaximumNumberOfIterations 3)"));
  AnalyticCost cost = costWithNoise();
  cost.randomRegion = true;

  const OptimizerRun run = runOptimizer(descent, cost, {0, 0});

  const double evenly = (1 + setting(run.report, "SigmoidMin")) / 2;
  EXPECT_NEAR(run.rows[1].columns[0], evenly, rounding);
  EXPECT_NEAR(run.rows[2].columns[0], 2 * evenly, rounding);
  EXPECT_EQ(cost.regionSwitches, (std::vector<bool>{false, true}));
}

TEST(AdaptiveStochasticGradientDescent, FollowsTheDisplacementDistributionIfAsked)
{
  AdaptiveStochasticGradientDescent descent(parametersOf(
      "(ASGDParameterEstimationMethod \"DisplacementDistribution\")\n(MaximumNumberOfIterations 1)"));
  AnalyticCost cost = costWithNoise();
  cost.displacements = {2, 2, 2, 2};

  const OptimizerRun run = runOptimizer(descent, cost, {0, 0});

  EXPECT_NEAR(setting(run.report, "SP_a"), 21.0 / 2 * 25 / 30, rounding);
  EXPECT_EQ(setting(run.report, "SigmoidMin"), -0.8);
  EXPECT_EQ(setting(run.report, "SigmoidScale"), 1e-8);
  EXPECT_EQ(cost.gridWanted.size(), 2u);
}

TEST(AdaptiveStochasticGradientDescent, DrawsOtherSamplesWhileTooFewAreValid)
{
  AdaptiveStochasticGradientDescent descent(parametersOf(manual + "(MaximumNumberOfSamplingAttempts 1)"));
  AnalyticCost cost(1, linear({1}));
  cost.newSamples = true;
  cost.badDraws = {{1, 0}};

  const OptimizerRun run = runOptimizer(descent, cost, {0});

  EXPECT_EQ(run.report.iterations, 3u);
  EXPECT_EQ(cost.draws, (std::vector<AnalyticCost::DrawKey>{{1, 0}, {1, 1}, {2, 0}}));
}

TEST(AdaptiveStochasticGradientDescent, NeitherEstimatesNorStepsWithoutIterations)
{
  AdaptiveStochasticGradientDescent descent(parametersOf("(MaximumNumberOfIterations 0)"));
  AnalyticCost cost = costWithNoise();

  const OptimizerRun run = runOptimizer(descent, cost, {1, 1});

  EXPECT_TRUE(run.rows.empty());
  EXPECT_EQ(run.final, (std::vector<double>{1, 1}));
  EXPECT_TRUE(cost.draws.empty());
}

TEST(AdaptiveStochasticGradientDescent, GivesTheSameBitsForAnyThreadCount)
{
  const std::size_t count = 100003; // above the size from which vectors are cut over threads
  std::vector<double> weights(count), centre(count);
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = 1 + static_cast<double>(i % 7);
    centre[i] = std::sin(static_cast<double>(i));
  }
  std::vector<std::vector<double>> results;
  for (int threads : {1, 2}) {
    AdaptiveStochasticGradientDescent descent(
        parametersOf("(MaximumNumberOfIterations 4)\n(NumberOfGradientMeasurements 2)"));
    AnalyticCost cost(count, quadratic(weights, centre));
    cost.terms = {4, 9, 2, 16};
    cost.processor.threads = threads;
    results.push_back(runOptimizer(descent, cost, std::vector<double>(count)).final);
  }

  EXPECT_TRUE(results[0] == results[1]);
}

TEST(AdaptiveStochasticGradientDescent, RejectsASigmoidThatDoesNotPassZero)
{
  EXPECT_EQ(
      errorText([] {
        AdaptiveStochasticGradientDescent(
            parametersOf("(AutomaticParameterEstimation \"false\")\n(SigmoidMin 0.1)"));
      }),
      "text:2: (SigmoidMin 0.1): the sigmoid of the time must fall below 0. Allowed: a number below 0.");
}
