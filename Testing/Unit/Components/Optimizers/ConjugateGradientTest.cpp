#include "Components/Optimizers/ConjugateGradient.h"

#include "Testing/Support/Checks/Differences.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

namespace tessera {
namespace {

using namespace testing;

/// A bowl about (1, .., 1).
AnalyticCost::Formula bowl(const std::vector<double>& curvatures)
{
  return quadratic(curvatures, std::vector<double>(curvatures.size(), 1));
}

OptimizerRun minimize(AnalyticCost& cost, const std::string& text, const std::vector<double>& start)
{
  ConjugateGradient optimizer(parametersOf(text));
  return runOptimizer(optimizer, cost, start);
}

const char* const types[] = {"FletcherReeves", "PolakRibiere", "DaiYuan", "HestenesStiefel",
                             "DaiYuanHestenesStiefel"};

TEST(ConjugateGradientTest, EveryTypeSolvesAQuadraticInAsManyStepsAsItHasCurvatures)
{
  for (const std::string type :
       types) { // with (nearly) exact line searches, by the theory of conjugate directions
    AnalyticCost cost(6, bowl({1, 4, 4, 9, 1, 9}));

    const OptimizerRun found =
        minimize(cost,
                 "(ConjugateGradientType \"" + type
                     + "\")\n(MaximumNumberOfIterations 3)\n(ValueTolerance 0)\n"
                       "(LineSearchGradientTolerance 1e-8)\n(LineSearchValueTolerance 1e-9)",
                 {5, -3, 2, 0, -7, 4});

    EXPECT_EQ(found.report.iterations, 3u) << type;
    for (const double x : found.final)
      EXPECT_NEAR(x, 1, 1e-5) << type; // what the line search leaves
  }
}

TEST(ConjugateGradientTest, SteepestDescentNeedsMoreSteps)
{
  AnalyticCost cost(2, bowl({1, 25}));
  const OptimizerRun found = minimize(
      cost, "(ConjugateGradientType \"SteepestDescent\")\n(MaximumNumberOfIterations 3)\n(ValueTolerance 0)",
      {9, 2});
  EXPECT_GT(std::abs(found.final[0] - 1), 1e-2);
}

TEST(ConjugateGradientTest, FollowsACurvedValley)
{
  AnalyticCost cost(2, rosenbrock);
  const OptimizerRun found =
      minimize(cost, "(MaximumNumberOfIterations 300)\n(ValueTolerance 1e-14)", {-1.2, 1});
  EXPECT_NEAR(found.final[0], 1, 1e-3);
  EXPECT_NEAR(found.final[1], 1, 2e-3);
}

/// From a point of a bowl with its minimum at (1, 1, 1).
void expectNoLeapAndNoAscent(const std::string& lineSearch)
{
  AnalyticCost cost(3, bowl({1, 2, 3}));
  const OptimizerRun found = minimize(cost,
                                      "(LineSearch \"" + lineSearch
                                          + "\")\n(MaximumStepLength 0.25)\n(MaximumNumberOfIterations 40)\n"
                                            "(MaximumNumberOfLineSearchIterations 50)",
                                      {3, -2, 8});

  double best = INFINITY;
  std::vector<double> at = cost.evaluated.front();
  for (const auto& position : cost.evaluated) {
    EXPECT_LE(largestDifference(position, at), 0.25 * (1 + 1e-12)) << lineSearch;
    const double value = bowl({1, 2, 3})(position, {});
    if (value < best) {
      best = value;
      at = position;
    }
  }
  for (std::size_t i = 1; i < found.rows.size(); ++i)
    EXPECT_LE(found.rows[i].value, found.rows[i - 1].value) << lineSearch;
  for (const double x : found.final)
    EXPECT_NEAR(x, 1, 0.05); // a few hundredths of the longest step
}

TEST(ConjugateGradientTest, BoundedStepsNeverLeapAndNeverAscend)
{
  expectNoLeapAndNoAscent("BoundedStep");
  expectNoLeapAndNoAscent("BoundedParabola");
}

TEST(ConjugateGradientTest, AParabolaEndsAtTheLeastPointAfterTwoValues)
{
  AnalyticCost cost(1, bowl({1}));
  const OptimizerRun found = minimize(
      cost, "(LineSearch \"BoundedParabola\")\n(MaximumStepLength 20)\n(MaximumNumberOfIterations 1)", {10});
  EXPECT_NEAR(found.final[0], 1, 1e-12); // the least point of a bowl is that of the parabola
  EXPECT_EQ(cost.evaluated.size(), 4u);  // the start, the longest step, the least point, its gradient
}

TEST(ConjugateGradientTest, AParabolaDescendsTheValley)
{
  AnalyticCost cost(2, rosenbrock);
  const OptimizerRun found = minimize(cost,
                                      "(LineSearch \"BoundedParabola\")\n(MaximumStepLength 0.3)\n"
                                      "(ValueTolerance 0)\n(MaximumNumberOfIterations 500)",
                                      {-1.2, 1});
  EXPECT_LT(found.report.value, 0.05); // 24 at the start
  for (std::size_t i = 1; i < found.rows.size(); ++i)
    EXPECT_LE(found.rows[i].value, found.rows[i - 1].value);
}

TEST(ConjugateGradientTest, WhereAConjugateDirectionLeadsNowhereBoundedStepsGoOnAlongTheSteepestOne)
{
  std::size_t begunAgain = 0;
  for (const std::string type : types) {
    AnalyticCost cost(2, rosenbrock);
    const OptimizerRun found =
        minimize(cost,
                 "(ConjugateGradientType \"" + type
                     + "\")\n(LineSearch \"BoundedStep\")\n(MaximumStepLength 0.3)\n(ValueTolerance 0)\n"
                       "(MaximumNumberOfIterations 500)",
                 {-1.2, 1});

    for (std::size_t i = 0; i + 1 < found.rows.size(); ++i)
      begunAgain += found.rows[i].columns[0] == 0 && found.rows[i + 1].value < found.rows[i].value;
    EXPECT_EQ(found.report.stopCondition, "The last step size was (nearly) zero.") << type;
    EXPECT_LT(found.report.value, 0.5) << type;
  }
  EXPECT_GT(begunAgain, 0u);
}

TEST(ConjugateGradientTest, BoundedStepsThatGainLittleAreAnEndAlongTheSteepestDirectionAlone)
{
  constexpr double tolerance = 0.05;
  std::size_t wentOn = 0;
  for (const std::string type : types) {
    AnalyticCost cost(2, rosenbrock);
    const OptimizerRun found = minimize(cost,
                                        "(ConjugateGradientType \"" + type
                                            + "\")\n(LineSearch \"BoundedStep\")\n(MaximumStepLength 0.3)\n"
                                              "(ValueTolerance 0.05)\n(MaximumNumberOfIterations 500)",
                                        {-1.2, 1});

    for (std::size_t i = 1; i + 1 < found.rows.size(); ++i) {
      const double before = found.rows[i - 1].value, after = found.rows[i].value;
      wentOn += 2 * (before - after) <= tolerance * (before + after);
    }
  }
  EXPECT_GT(wentOn, 0u);
}

TEST(ConjugateGradientTest, BoundedStepsAreAsLongAsTheImagesSpacingUnlessTold)
{
  AnalyticCost cost(1, bowl({1}));
  cost.spacingMm = 0.5;
  minimize(cost, "(LineSearch \"BoundedStep\")\n(MaximumNumberOfIterations 1)", {10});
  EXPECT_DOUBLE_EQ(cost.evaluated[1][0], 9.5);
}

TEST(ConjugateGradientTest, StopsWhereTheGradientVanishesAndWhereTheValueStays)
{
  AnalyticCost there(2, bowl({1, 2}));
  EXPECT_EQ(minimize(there, "", {1, 1}).report.stopCondition,
            "The gradient magnitude has (nearly) vanished.");
  AnalyticCost slow(2, rosenbrock);
  EXPECT_EQ(
      minimize(slow, "(ValueTolerance 0.9)\n(LineSearch \"BoundedStep\")", {-1.2, 1}).report.stopCondition,
      "The value changes by less than ValueTolerance.");
}

TEST(ConjugateGradientTest, AsInElastixElevenLittleChangesRunningAreAnEnd)
{
  AnalyticCost cost(2, rosenbrock);
  // No change is as large as twice the sum of the values.
  const OptimizerRun found = minimize(cost, "(ValueTolerance 2)", {-1.2, 1});
  EXPECT_EQ(found.report.stopCondition, "Almost no decrease in function value anymore.");
  EXPECT_EQ(found.report.iterations, 11u);
}

TEST(ConjugateGradientTest, AsInElastixALineSearchBeginsWithStepLengthAndLaterOnesWithTheLastStep)
{
  AnalyticCost cost(2, bowl({1, 3}));
  const std::vector<double> start{5, -3}; // its gradient is {4, -12}
  const OptimizerRun found = minimize(
      cost, "(StepLength 0.125)\n(GenerateLineSearchIterations \"true\")\n(MaximumNumberOfIterations 3)",
      start);

  EXPECT_EQ(cost.evaluated[1], (std::vector<double>{5 - 0.125 * 4, -3 + 0.125 * 12}));
  double lastStep = 0;
  for (std::size_t i = 0; i + 1 < found.rows.size(); ++i) {
    const auto& [lineIteration, phase] =
        std::pair(found.rows[i].textColumns[1], found.rows[i].textColumns[2]);
    if (phase == "Main") {
      lastStep = found.rows[i].columns[0];
    } else if (lineIteration == "start" && i > 0) {
      EXPECT_EQ(found.rows[i + 1].columns[0], lastStep) << i;
    }
  }
  EXPECT_GT(lastStep, 0);
}

TEST(ConjugateGradientTest, AsInElastixOneIterationIsNoneAndTwoAreTwo)
{
  for (const std::size_t iterations : {1u, 2u}) {
    AnalyticCost cost(2, rosenbrock);
    const OptimizerRun found =
        minimize(cost, "(MaximumNumberOfIterations " + std::to_string(iterations) + ")", {-1.2, 1});
    EXPECT_EQ(found.report.stopCondition, "Maximum number of iterations has been reached.");
    EXPECT_EQ(found.rows.size(), iterations == 1 ? 0u : 2u);
  }
}

TEST(ConjugateGradientTest, AsInElastixADivisorOfBetaThatIsNotPositiveIsAnEnd)
{
  // A straight slope: the gradient stays, so that d . (g' - g) is 0.
  AnalyticCost cost(1, [](std::span<const double> at, std::span<double> gradient) {
    if (!gradient.empty())
      gradient[0] = 1;
    return at[0];
  });
  const OptimizerRun found =
      minimize(cost, "(StopIfWolfeNotSatisfied \"false\")\n(MaximumNumberOfLineSearchIterations 3)", {0});
  EXPECT_EQ(found.report.stopCondition, "The beta factor became infinite.");
  EXPECT_EQ(found.report.iterations, 1u);
}

TEST(ConjugateGradientTest, NewSamplesAreDrawnAfterEachIterationAndTheValueAndGradientComeFromThem)
{
  for (const std::string lineSearch : {"MoreThuente", "BoundedStep"}) {
    const std::string text =
        "(LineSearch \"" + lineSearch + "\")\n(MaximumNumberOfIterations 3)\n(ValueTolerance 0)";
    AnalyticCost same(2, rosenbrock), other(2, rosenbrock);
    other.newSamples = true;
    const OptimizerRun without = minimize(same, text, {-1.2, 1}), with = minimize(other, text, {-1.2, 1});

    EXPECT_TRUE(same.draws.empty());
    EXPECT_EQ(other.draws, (std::vector<AnalyticCost::DrawKey>{{1, 0}, {2, 0}, {3, 0}})) << lineSearch;
    EXPECT_EQ(other.evaluated.size(), same.evaluated.size() + 3) << lineSearch;
    EXPECT_EQ(with.final, without.final) << lineSearch; // this cost is the same over all samples
    EXPECT_EQ(other.evaluated.back(), with.final) << lineSearch;
  }
}

TEST(ConjugateGradientTest, ItsRowsHaveAsManyValuesAsItsColumns)
{
  AnalyticCost cost(2, rosenbrock);
  const OptimizerRun found =
      minimize(cost, "(GenerateLineSearchIterations \"true\")\n(MaximumNumberOfIterations 2)", {-1.2, 1});
  const std::size_t columns = ConjugateGradient(parametersOf("")).columns().size();
  ASSERT_FALSE(found.rows.empty());
  for (const IterationRow& row : found.rows)
    EXPECT_EQ(row.columns.size() + row.textColumns.size(), columns);
  EXPECT_GT(found.rows.size(), 2u); // those of the line searches too
}

TEST(ConjugateGradientTest, UnknownTypesAndLineSearchesAreErrorsThatListTheKnown)
{
  EXPECT_PRED2(contains,
               errorText([] { ConjugateGradient(parametersOf("(ConjugateGradientType \"Newton\")")); }),
               "PolakRibiere");
  EXPECT_PRED2(contains, errorText([] { ConjugateGradient(parametersOf("(LineSearch \"Golden\")")); }),
               "BoundedStep");
}

}
}
