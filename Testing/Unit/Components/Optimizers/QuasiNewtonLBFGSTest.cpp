#include "Components/Optimizers/QuasiNewtonLBFGS.h"

#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double rounding = 1e-12; // a few roundings of numbers below 100
using Matrix = std::vector<std::vector<double>>;

std::vector<double> gradientAt(const AnalyticCost::Formula& formula, const std::vector<double>& position)
{
  std::vector<double> gradient(position.size());
  formula(position, gradient);
  return gradient;
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b)
{
  return checks::moved(a, -1, b);
}

double product(const std::vector<double>& a, const std::vector<double>& b)
{
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// (I - s y' / y's) H (I - y s' / y's) + s s' / y's, written out.
Matrix bfgsUpdate(const Matrix& H, const std::vector<double>& s, const std::vector<double>& y)
{
  const std::size_t n = s.size();
  const double ys = product(y, s);
  Matrix result(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = s[i] * s[j] / ys;
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t l = 0; l < n; ++l)
          sum += ((i == k) - s[i] * y[k] / ys) * H[k][l] * ((l == j) - y[l] * s[j] / ys);
      result[i][j] = sum;
    }
  return result;
}

/// -H g from the last `memory` steps by dense matrices.
std::vector<double> denseDirection(const std::vector<std::vector<double>>& positions,
                                   const AnalyticCost::Formula& formula, std::size_t at, std::size_t memory)
{
  const std::size_t n = positions[0].size(), first = at > memory ? at - memory : 0;
  const auto change = [&](std::size_t k) {
    return difference(gradientAt(formula, positions[k + 1]), gradientAt(formula, positions[k]));
  };
  const auto step = [&](std::size_t k) { return difference(positions[k + 1], positions[k]); };
  Matrix H(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    H[i][i] = product(step(at - 1), change(at - 1)) / product(change(at - 1), change(at - 1));
  for (std::size_t k = first; k < at; ++k)
    H = bfgsUpdate(H, step(k), change(k));
  const std::vector<double> gradient = gradientAt(formula, positions[at]);
  std::vector<double> direction(n);
  for (std::size_t i = 0; i < n; ++i)
    direction[i] = -product(H[i], gradient);
  return direction;
}

}

TEST(QuasiNewtonLBFGS, TakesTheStepsComputedByHand)
{
  QuasiNewtonLBFGS optimizer(parametersOf(""));
  AnalyticCost cost(2, quadratic({1, 1}, {3, 4}));

  const OptimizerRun run = runOptimizer(optimizer, cost, {0, 0});

  // a step of length 1 down the gradient, then the whole way since the curvature is known
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_NEAR(run.positions[0][0], 0.6, rounding);
  EXPECT_NEAR(run.positions[0][1], 0.8, rounding);
  EXPECT_NEAR(run.positions[1][0], 3, rounding);
  EXPECT_NEAR(run.positions[1][1], 4, rounding);
  EXPECT_NEAR(run.rows[0].value, 8, rounding);
  const double columns[] = {1, 4, 1, -4}; // step, gradient, direction, slope
  for (std::size_t c = 0; c < 4; ++c)
    EXPECT_NEAR(run.rows[0].columns[c], columns[c], rounding) << c;
  EXPECT_NEAR(run.rows[1].columns[2], 4, rounding);
  EXPECT_EQ(run.rows[1].textColumns,
            (std::vector<std::string>{"1", "0", "Main", "true", "true", "WolfeSatisfied"}));
  EXPECT_EQ(optimizer.columns().size(), 10u);
  EXPECT_EQ(run.report.iterations, 2u);
  EXPECT_EQ(run.report.stopCondition, "The gradient magnitude has (nearly) vanished.");
}

TEST(QuasiNewtonLBFGS, SearchesAlongTheDirectionsOfDenseMatrices)
{
  const std::vector<double> start{-1.2, 1, 0.7, -0.4, 1.5};
  for (std::size_t memory : {1, 2, 3, 5, 8}) {
    QuasiNewtonLBFGS optimizer(
        parametersOf("(LBFGSUpdateAccuracy " + std::to_string(memory) + ")\n(MaximumNumberOfIterations 9)"));
    AnalyticCost cost(5, rosenbrock);

    const OptimizerRun run = runOptimizer(optimizer, cost, start);

    std::vector<std::vector<double>> positions{start};
    positions.insert(positions.end(), run.positions.begin(), run.positions.end());
    ASSERT_EQ(run.rows.size(), 9u);
    for (std::size_t k = 1; k < 9; ++k) {
      const auto direction = denseDirection(positions, rosenbrock, k, memory);
      const auto step = difference(positions[k + 1], positions[k]);
      const double length = run.rows[k].columns[0];
      for (std::size_t i = 0; i < 5;
           ++i) // differences of positions and gradients lose digits, curvatures spread over 1e3
        EXPECT_NEAR(step[i], length * direction[i], 1e-9 * (1 + std::abs(step[i])))
            << "memory " << memory << ", iteration " << k;
    }
  }
}

TEST(QuasiNewtonLBFGS, ReachesTheMinimumOfRosenbrocksFunction)
{
  QuasiNewtonLBFGS optimizer(parametersOf("(MaximumNumberOfIterations 200)"));
  AnalyticCost cost(2, rosenbrock);

  const OptimizerRun run = runOptimizer(optimizer, cost, {-1.2, 1});

  EXPECT_EQ(run.report.stopCondition, "The gradient magnitude has (nearly) vanished.");
  EXPECT_LT(run.report.iterations, 60u);
  for (double y : run.final)
    EXPECT_NEAR(y, 1, 1e-5); // gradient below 1e-6 sqrt(2), smallest curvature 0.4
}

TEST(QuasiNewtonLBFGS, WritesARowForEachLineSearchStepIfAsked)
{
  QuasiNewtonLBFGS optimizer(
      parametersOf("(GenerateLineSearchIterations \"true\")\n(MaximumNumberOfIterations 1)"));
  AnalyticCost cost(2, quadratic({1, 1}, {3, 4}));

  const OptimizerRun run = runOptimizer(optimizer, cost, {0, 0});

  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_EQ(run.rows[0].textColumns,
            (std::vector<std::string>{"0", "start", "LineOptimizing", "false", "false", "---"}));
  EXPECT_EQ(run.rows[1].textColumns,
            (std::vector<std::string>{"0", "0", "LineOptimizing", "true", "true", "---"}));
  EXPECT_EQ(run.rows[2].textColumns,
            (std::vector<std::string>{"0", "0", "Main", "true", "true", "WolfeSatisfied"}));
  EXPECT_NEAR(run.rows[0].columns[3], -5, rounding);
  EXPECT_EQ(run.positions[1], (std::vector<double>{0, 0})); // a search moves nothing until it ends
  EXPECT_EQ(run.rows[2].iteration, 2u);
  EXPECT_EQ(run.report.iterations, 1u);
  EXPECT_EQ(run.report.stopCondition, "Maximum number of iterations has been reached.");
}

TEST(QuasiNewtonLBFGS, StopsWhenALineSearchFailsUnlessToldToGoOn)
{
  const std::string few =
      "(MaximumNumberOfLineSearchIterations 1)\n(MaximumNumberOfIterations 5)\n"; // one evaluation goes back
                                                                                  // to step 0
  AnalyticCost cost(1, quadratic({1}, {1000}));

  QuasiNewtonLBFGS stopping(parametersOf(few));
  EXPECT_EQ(runOptimizer(stopping, cost, {0}).report.stopCondition, "The last step size was (nearly) zero.");

  const std::string steep = "(LineSearchGradientTolerance 0.001)\n(MaximumNumberOfLineSearchIterations "
                            "3)\n(MaximumNumberOfIterations 2)\n";
  QuasiNewtonLBFGS strict(parametersOf(steep));
  EXPECT_EQ(runOptimizer(strict, cost, {0}).report.stopCondition, "Wolfe conditions are not satisfied.");
  QuasiNewtonLBFGS lenient(parametersOf(steep + "(StopIfWolfeNotSatisfied \"false\")"));
  EXPECT_EQ(runOptimizer(lenient, cost, {0}).report.iterations, 2u);
}

TEST(QuasiNewtonLBFGS, StaysWhereItIsWhenTheCostFailsInALineSearch)
{
  QuasiNewtonLBFGS optimizer(parametersOf(""));
  AnalyticCost cost(1, [](std::span<const double> y, std::span<double> gradient) {
    if (y[0] > 0.5)
      throw Error(ExitCode::registrationFailed, "analytic cost: 0 of 10 samples are valid");
    gradient[0] = -1;
    return -y[0];
  });

  const OptimizerRun run = runOptimizer(optimizer, cost, {0});

  EXPECT_EQ(run.report.stopCondition, "Error in LineSearch.");
  EXPECT_EQ(run.final, (std::vector<double>{0}));
  EXPECT_EQ(cost.lines, (std::vector<std::string>{"analytic cost: 0 of 10 samples are valid",
                                                  "The error is ignored and convergence is assumed."}));
}

TEST(QuasiNewtonLBFGS, EvaluatesNewSamplesBetweenSearches)
{
  QuasiNewtonLBFGS optimizer(parametersOf("(MaximumNumberOfIterations 2)"));
  AnalyticCost cost(2, quadratic({1, 3}, {30, 40}));
  cost.newSamples = true;

  runOptimizer(optimizer, cost, {0, 0});

  EXPECT_EQ(cost.draws, (std::vector<AnalyticCost::DrawKey>{{1, 0}}));
}

TEST(QuasiNewtonLBFGS, RejectsTolerancesThatExcludeEachOther)
{
  EXPECT_THROW(
      QuasiNewtonLBFGS(parametersOf("(LineSearchValueTolerance 0.5)\n(LineSearchGradientTolerance 0.1)")),
      Error);
}
