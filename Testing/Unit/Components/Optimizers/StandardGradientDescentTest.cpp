#include "Components/Optimizers/StandardGradientDescent.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double rounding = 1e-12; // a few roundings of numbers below 100

StandardGradientDescent optimizer(const std::string& text)
{
  return StandardGradientDescent(parametersOf(text));
}

}

TEST(StandardGradientDescent, TakesTheFirstThreeStepsComputedByHand)
{
  auto descent = optimizer("(SP_a 1)\n(SP_A 1)\n(SP_alpha 1)\n(MaximumNumberOfIterations 3)");
  AnalyticCost cost(2, quadratic({2, 8}, {0, 0}));

  const OptimizerRun run = runOptimizer(descent, cost, {1, 1});

  // gradients (2, 8), (0, -24), (0, 40); steps 1/2, 1/3, 1/4
  const std::vector<std::vector<double>> positions{{0, -3}, {0, 5}, {0, -5}};
  const double values[] = {5, 36, 100}, stepSizes[] = {0.5, 1.0 / 3, 0.25},
               norms[] = {std::sqrt(68.0), 24, 40};
  ASSERT_EQ(run.rows.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(run.rows[k].iteration, k);
    EXPECT_NEAR(run.rows[k].value, values[k], rounding);
    EXPECT_NEAR(run.rows[k].columns[0], stepSizes[k], rounding);
    EXPECT_NEAR(run.rows[k].columns[1], norms[k], rounding);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_NEAR(run.positions[k][i], positions[k][i], rounding) << "row " << k;
  }
  EXPECT_EQ(run.report.iterations, 3u);
  EXPECT_NEAR(run.report.value, 100, rounding);
  EXPECT_EQ(run.report.stopCondition, "Maximum number of iterations has been reached.");
}

TEST(StandardGradientDescent, UsesElastixDefaults)
{
  auto descent = optimizer("(MaximumNumberOfIterations 1)");
  AnalyticCost cost(1, linear({1}));

  const OptimizerRun run = runOptimizer(descent, cost, {0});

  EXPECT_NEAR(run.rows[0].columns[0], 400 / std::pow(51, 0.602), rounding);
  EXPECT_EQ(descent.columns(), (std::vector<std::string>{"3:StepSize", "4:||Gradient||"}));
}

TEST(StandardGradientDescent, DrawsNewSamplesForEveryIterationButTheFirst)
{
  auto descent = optimizer("(MaximumNumberOfIterations 3)");
  AnalyticCost cost(1, linear({1}));
  cost.newSamples = true;

  runOptimizer(descent, cost, {0});

  EXPECT_EQ(cost.draws, (std::vector<AnalyticCost::DrawKey>{{1, 0}, {2, 0}}));
}

TEST(StandardGradientDescent, DrawsOtherSamplesWhileTooFewAreValid)
{
  auto descent = optimizer("(MaximumNumberOfIterations 3)\n(MaximumNumberOfSamplingAttempts 2)");
  AnalyticCost cost(1, linear({1}));
  cost.newSamples = true;
  cost.badDraws = {{1, 0}, {1, 1}, {2, 0}};

  const OptimizerRun run = runOptimizer(descent, cost, {0});

  EXPECT_EQ(run.report.iterations, 3u);
  EXPECT_EQ(cost.draws, (std::vector<AnalyticCost::DrawKey>{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}}));
}

TEST(StandardGradientDescent, GivesUpBeyondTheAllowedSamplingAttempts)
{
  auto descent = optimizer("(MaximumNumberOfSamplingAttempts 1)");
  AnalyticCost cost(1, linear({1}));
  cost.newSamples = true;
  cost.badDraws = {{1, 0}, {1, 1}, {1, 2}};

  EXPECT_EQ(exitCodeOf([&] { runOptimizer(descent, cost, {0}); }), ExitCode::registrationFailed);
  EXPECT_EQ(cost.draws.back(), (AnalyticCost::DrawKey{1, 1}));
}

TEST(StandardGradientDescent, TakesNoStepIfNoIterationIsAskedFor)
{
  auto descent = optimizer("(MaximumNumberOfIterations 0)");
  AnalyticCost cost(2, quadratic({2, 8}, {0, 0}));

  const OptimizerRun run = runOptimizer(descent, cost, {1, 1});

  EXPECT_TRUE(run.rows.empty());
  EXPECT_EQ(run.final, (std::vector<double>{1, 1}));
  EXPECT_NEAR(run.report.value, 5, rounding);
}

TEST(StandardGradientDescent, SaysWhenTheRegistrationDiverges)
{
  auto descent = optimizer("(SP_a 1e200)\n(SP_alpha 0)");
  AnalyticCost cost(1, quadratic({1}, {0}));

  EXPECT_PRED2(contains, errorText([&] { runOptimizer(descent, cost, {1}); }, ExitCode::registrationFailed),
               "StandardGradientDescent: level 0, iteration 1: the cost is inf");
}
