#include "Core/Registration/Stage/Convergence.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/StageRuns.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

Convergence convergenceOf(const std::string& text)
{
  return Convergence(parametersOf(text, 2, 1), 0);
}

/// After how many of the values it has converged; 0: it has not.
template <class Value>
std::size_t iterationsUntilConverged(Convergence convergence, std::size_t most, Value&& value)
{
  for (std::size_t k = 0; k < most; ++k) {
    convergence.add(value(static_cast<double>(k)));
    if (convergence.isReached())
      return k + 1;
  }
  return 0;
}

TEST(Convergence, EndsWhereAWindowGainsTheShareOfTheLevelsGain)
{
  // On a straight line of 20 iterations a window of 5 gains 4 steps, and the level k steps: 4 / k falls to
  // 0.25 at k = 16.
  const auto line = [](double k) { return 100 - k; };
  EXPECT_EQ(
      iterationsUntilConverged(convergenceOf("(ConvergenceWindow 5)\n(ConvergenceThreshold 0.25)"), 20, line),
      17u);
  EXPECT_EQ(
      iterationsUntilConverged(convergenceOf("(ConvergenceWindow 5)\n(ConvergenceThreshold 0.2)"), 20, line),
      0u);
}

TEST(Convergence, ScaleAndOffsetOfTheValuesDoNotMatter)
{
  const auto decay = [](double k) { return std::exp(-k / 10); };
  const std::string text = "(ConvergenceWindow 10)\n(ConvergenceThreshold 0.01)";
  const std::size_t found = iterationsUntilConverged(convergenceOf(text), 500, decay);
  EXPECT_GT(found, 30u);
  EXPECT_LT(found, 70u);
  EXPECT_EQ(
      iterationsUntilConverged(convergenceOf(text), 500, [&](double k) { return 1e6 * decay(k) - 3e5; }),
      found);
}

TEST(Convergence, ValuesThatDoNotFallHaveConvergedAfterTheSecondWindow)
{
  const std::string text = "(ConvergenceWindow 4)";
  EXPECT_EQ(iterationsUntilConverged(convergenceOf(text), 50, [](double) { return 7; }), 5u);
  EXPECT_EQ(iterationsUntilConverged(convergenceOf(text), 50, [](double k) { return k; }), 5u);
}

TEST(Convergence, WithoutAWindowALevelGoesOn)
{
  EXPECT_EQ(iterationsUntilConverged(convergenceOf(""), 1000, [](double) { return 7; }), 0u);
}

TEST(Convergence, AWindowThatHoldsNoLineIsRefused)
{
  EXPECT_EQ(exitCodeOf([] { convergenceOf("(ConvergenceWindow 2)"); }), ExitCode::usage);
}

TEST(Convergence, EndsALevelOfEveryOptimizerAndTheNextOneRuns)
{
  for (const char* optimizer : {"StandardGradientDescent", "AdaptiveStochasticGradientDescent",
                                "RegularStepGradientDescent", "ConjugateGradient", "QuasiNewtonLBFGS"}) {
    Context host;
    QuietReporter<2> reporter;
    DrawnStage<2> input = stageInput<2>(
        {40, 30},
        std::string("(NumberOfResolutions 2) (MaximumNumberOfIterations 200) (ConvergenceWindow 4 0) "
                    "(ConvergenceThreshold 0.9) (MinimumStepLength 1e-30) (GradientMagnitudeTolerance 0) "
                    "(ValueTolerance 0) (StopIfWolfeNotSatisfied \"false\") (StepLength 1e-3) (Optimizer \"")
            + optimizer + "\")");

    const StageResult<2> result = input.run(host, reporter);

    EXPECT_FALSE(result.wasStopped) << optimizer;
    ASSERT_EQ(result.levels.size(), 2u) << optimizer;
    EXPECT_LT(result.levels[0].iterations, 200u) << optimizer;
    EXPECT_EQ(result.levels[0].stopCondition.rfind("Converged: the last 4 iterations gained ", 0), 0u)
        << optimizer << ": " << result.levels[0].stopCondition;
    EXPECT_EQ(result.levels[1].stopCondition.find("Converged"), std::string::npos) << optimizer;
  }
}

}
}
