#include "Core/Registration/Stage/Convergence.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/StageRuns.h"

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

TEST(Convergence, ALevelWhoseValuesDoNotFallEndsAfterTheSecondWindow)
{
  const std::string text = "(ConvergenceWindow 4)";
  EXPECT_EQ(iterationsUntilConverged(convergenceOf(text), 50, [](double) { return 7; }), 5u);
  EXPECT_EQ(iterationsUntilConverged(convergenceOf(text), 50, [](double k) { return k; }), 5u);
}

/// Numbers that scatter about 0 with a standard deviation of 1.
double noise(double k)
{
  double sum = 0; // of 12 uniform numbers
  for (int i = 0; i < 12; ++i) {
    const double x = std::sin(12.9898 * (12 * k + i) + 78.233) * 43758.5453;
    sum += x - std::floor(x);
  }
  return sum - 6;
}

TEST(Convergence, NoiseDoesNotEndALevelThatStillGains)
{
  // In ten windows the line falls by 10 of the noise's standard deviations, in one by as much as the noise.
  const auto fall = [](double k) { return noise(k) - 0.05 * k; };
  EXPECT_EQ(iterationsUntilConverged(convergenceOf("(ConvergenceWindow 20)"), 1000, fall), 0u);
  const auto decay = [](double k) { return noise(k) + 20 * std::exp(-k / 100); };
  const std::size_t found = iterationsUntilConverged(convergenceOf("(ConvergenceWindow 20)"), 1000, decay);
  EXPECT_GT(found, 300u); // 5 % of the gain are left
  EXPECT_LT(found, 700u);
}

TEST(Convergence, ALevelOfNoiseThatGainsNothingEnds)
{
  Convergence convergence = convergenceOf("(ConvergenceWindow 20)");
  std::size_t count = 0;
  while (count < 1000 && !convergence.isReached())
    convergence.add(noise(static_cast<double>(count++)));
  EXPECT_GE(count, 200u);
  EXPECT_LT(count, 300u);
  EXPECT_EQ(
      convergence.stopCondition().rfind(
          "Converged: the last 200 iterations gained nothing that exceeds the noise of the samples (", 0),
      0u)
      << convergence.stopCondition();
}

TEST(Convergence, TellsSharesAndWhereNothingWasGained)
{
  Convergence fell = convergenceOf("(ConvergenceWindow 5)\n(ConvergenceThreshold 0.25)"),
              rose = convergenceOf("(ConvergenceWindow 4)");
  for (int k = 0; !fell.isReached(); ++k)
    fell.add(100 - k);
  EXPECT_EQ(fell.stopCondition(),
            "Converged: the last 5 iterations gained 25 % of what the level gained (4 of 16).");
  for (int k = 0; !rose.isReached(); ++k)
    rose.add(k);
  EXPECT_EQ(rose.stopCondition(), "Not converged: the cost rose by 3 in the last 4 iterations.");
  Convergence stayed = convergenceOf("(ConvergenceWindow 4)");
  while (!stayed.isReached())
    stayed.add(7);
  EXPECT_EQ(stayed.stopCondition(), "Converged: the last 4 iterations gained nothing.");
}

TEST(Convergence, WithoutAWindowALevelGoesOn)
{
  EXPECT_EQ(iterationsUntilConverged(convergenceOf(""), 1000, [](double) { return 7; }), 0u);
}

TEST(Convergence, WarnsOfAWindowThatNeverEndsItsLevel)
{
  std::vector<std::string> warnings;
  const auto check = [&](const std::string& text) {
    warnings.clear();
    Convergence::check(
        parametersOf(text, 2, 2, "", [&](const std::string& line) { warnings.push_back(line); }));
  };
  check("(ConvergenceWindow 400 20)\n(MaximumNumberOfIterations 300)");
  EXPECT_EQ(warnings, std::vector<std::string>{
                          "text:1: (ConvergenceWindow 400 20): level 0: a window of 400 iterations never "
                          "ends a level of at most 300 (MaximumNumberOfIterations)."});
  check("(ConvergenceWindow 200)\n(MaximumNumberOfIterations 300)");
  EXPECT_TRUE(warnings.empty());
}

TEST(Convergence, WarnsOfWindowsThatRandomSamplesMayEndByChance)
{
  std::vector<std::string> warnings;
  const auto create = [&](const std::string& lines) {
    warnings.clear();
    const auto warn = [&](const std::string& line) {
      if (contains(line, "ConvergenceWindow"))
        warnings.push_back(line);
    };
    createComponents<2>(allComponents(), Parameters(stageText(lines), "", 2, 2, warn));
  };
  const std::string lines = "(ConvergenceWindow 10 9) (NumberOfResolutions 2) (MaximumNumberOfIterations "
                            "100) (NewSamplesEveryIteration \"true\") ";
  create(lines + "(ImageSampler \"RandomCoordinate\")");
  EXPECT_EQ(warnings,
            std::vector<std::string>{"text:1: (ConvergenceWindow 10 9): level 1: with random samples a "
                                     "window of 9 iterations ends a level by chance. Take at least 10."});
  create(lines + "(ImageSampler \"Full\")");
  EXPECT_TRUE(warnings.empty());
}

TEST(Convergence, AThresholdOfOneIsRefused)
{
  EXPECT_EQ(exitCodeOf([] { convergenceOf("(ConvergenceThreshold 1)"); }), ExitCode::usage);
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
    Reporter<2> reporter;
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
