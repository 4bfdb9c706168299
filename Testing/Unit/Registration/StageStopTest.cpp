#include "Testing/Support/Scenes/StageRuns.h"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

using namespace testing;

/// Asks for a stop after an iteration of a level, and remembers what was reported to it.
class StoppingReporter final : public Reporter<2> {
public:
  StoppingReporter(std::size_t level, std::size_t iterations) : level_(level), iterations_(iterations) {}

  std::atomic<bool> stop{false};
  std::size_t iterationsOfLevel = 0;
  std::vector<double> reached; // by the last iteration
  std::vector<std::vector<double>> finished;

  void levelStarted(std::size_t, const std::vector<std::string>&) override { iterationsOfLevel = 0; }
  void iterationDone(std::size_t level, const IterationRecord&, const ReachedChain& chain) override
  {
    ++iterationsOfLevel;
    reached = chain().parameters;
    if (level == level_ && iterationsOfLevel == iterations_)
      stop = true;
  }
  void levelFinished(const LevelSummary&, const TransformChain<2>& chain) override
  {
    finished.push_back(chain.parameters);
  }

private:
  std::size_t level_, iterations_;
};

DrawnStage<2> twoLevels(const std::string& optimizer)
{
  return stageInput<2>({40, 30},
                       "(NumberOfResolutions 2) (MaximumNumberOfIterations 5) (StepLength 1e-3) (Optimizer \""
                           + optimizer + "\")");
}

TEST(StageStop, EveryOptimizerEndsAfterTheIterationAtHand)
{
  for (const char* optimizer : {"StandardGradientDescent", "AdaptiveStochasticGradientDescent",
                                "RegularStepGradientDescent", "ConjugateGradient", "QuasiNewtonLBFGS"}) {
    Context host;
    StoppingReporter reporter(1, 1);
    DrawnStage<2> input = twoLevels(optimizer);
    host.stop = reporter.stop;

    const StageResult<2> result = input.run(host, reporter);

    EXPECT_TRUE(result.wasStopped) << optimizer;
    EXPECT_EQ(reporter.iterationsOfLevel, 1u) << optimizer;
    ASSERT_EQ(result.levels.size(), 1u) << optimizer;
    ASSERT_EQ(reporter.finished.size(), 1u) << optimizer;
    EXPECT_EQ(result.chain->parameters, reporter.finished.front()) << optimizer;
    EXPECT_NE(result.chain->parameters, reporter.reached) << optimizer << ": the second level had begun";
  }
}

/// Asks for a stop once gradients are measured to estimate step sizes.
class StoppingLog final : public Log {
public:
  std::atomic<bool> stop{false};

private:
  void write(LogLevel, const std::string& line, LineKind) override
  {
    if (line.find("Sampling gradients") != std::string::npos)
      stop = true;
  }
};

TEST(StageStop, StepSizesAreNotEstimatedToTheEnd)
{
  Context host;
  StoppingReporter reporter(0, 1);
  StoppingLog log;
  DrawnStage<2> input = stageInput<2>(
      {40, 30}, "(NumberOfResolutions 1) (MaximumNumberOfIterations 5) (NumberOfGradientMeasurements 20000) "
                "(Optimizer \"AdaptiveStochasticGradientDescent\")");
  host.stop = log.stop;

  const StageResult<2> result = input.run(host, reporter, log);

  EXPECT_TRUE(result.wasStopped);
  EXPECT_TRUE(result.levels.empty());
  EXPECT_EQ(reporter.iterationsOfLevel, 0u);
}

TEST(StageStop, AStageThatNobodyStopsRunsAllLevels)
{
  Context host;
  StoppingReporter reporter(2, 1); // there is no such level
  DrawnStage<2> input = twoLevels("StandardGradientDescent");
  host.stop = reporter.stop;

  const StageResult<2> result = input.run(host, reporter);

  EXPECT_FALSE(result.wasStopped);
  EXPECT_EQ(result.levels.size(), 2u);
  EXPECT_EQ(result.chain->parameters, reporter.reached);
  EXPECT_EQ(result.chain->parameters, reporter.finished.back());
}

TEST(StageStop, OneOfTwoRunsAtOnceEndsAlone)
{
  StoppingReporter stopping(1, 1), going(2, 1);
  StageResult<2> stopped, whole;
  const auto run = [](StoppingReporter& reporter, StageResult<2>& result) {
    Context context{{}, 2, nullptr, reporter.stop};
    result = twoLevels("AdaptiveStochasticGradientDescent").run(context, reporter);
  };
  {
    const std::jthread first([&] { run(stopping, stopped); }), second([&] { run(going, whole); });
  }
  StoppingReporter alone(2, 1);
  StageResult<2> expected;
  run(alone, expected);

  EXPECT_TRUE(stopped.wasStopped);
  EXPECT_EQ(stopped.levels.size(), 1u);
  EXPECT_FALSE(whole.wasStopped);
  EXPECT_EQ(whole.chain->parameters, expected.chain->parameters);
}

TEST(StageStop, BeforeTheFirstLevelIsFinishedThereIsNoLevel)
{
  Context host;
  StoppingReporter reporter(0, 1);
  DrawnStage<2> input = twoLevels("StandardGradientDescent");
  host.stop = reporter.stop;

  const StageResult<2> result = input.run(host, reporter);

  EXPECT_TRUE(result.wasStopped);
  EXPECT_TRUE(result.levels.empty());
}

}
}
