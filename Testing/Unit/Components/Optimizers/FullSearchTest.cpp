#include "Components/Optimizers/FullSearch.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/AnalyticCosts.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::testing;

namespace {

/// Axes along parameters 2 (from -2 to 1.4: -2, -1, 0, 1) and 0 (10, 10.5, 11).
const std::string twoAxes = "(FullSearchSpace0 \"shift\" 2 -2.0 1.4 1.0 \"turn\" 0 10.0 11.0 0.5)\n";

std::string refusal(const std::string& text)
{
  return errorText([&] { FullSearch search(parametersOf(text)); });
}

/// Evaluates four positions before it gives the first value.
class CostOfGroups : public AnalyticCost {
public:
  using AnalyticCost::AnalyticCost;

  std::size_t groups = 0, rowsUntilStop = 1000;
  mutable std::size_t rows = 0;
  double highest = 1000; // positions above it have no valid samples

  double evaluate(std::span<const double> position, std::span<double> gradient) override
  {
    if (position[0] > highest)
      throw Error(ExitCode::registrationFailed, "analytic cost: 0 of 10 samples are valid");
    return AnalyticCost::evaluate(position, gradient);
  }
  void evaluateSeveral(std::size_t count, const PositionAt& positionAt, const TakeValue& take) override
  {
    for (std::size_t first = 0; first < count; first += 4, ++groups) {
      std::vector<double> values;
      std::size_t valid = 4;
      for (std::size_t i = first; i < std::min(first + 4, count); ++i) {
        const std::span<const double> position = positionAt(i);
        const bool isValid = position[0] <= highest;
        valid = isValid ? valid : std::min(valid, i - first);
        values.push_back(isValid ? evaluate(position, {}) : 0);
      }
      for (std::size_t i = 0; i < values.size(); ++i)
        if (i >= valid || !take(values[i]))
          return;
    }
  }
  bool isStopAsked() const override { return ++rows == rowsUntilStop; }
};

}

TEST(FullSearch, VisitsEveryPointTheLowestParameterFastest)
{
  FullSearch search(parametersOf(twoAxes + "(WriteOptimizationSurfaceEachResolution \"true\")"));
  AnalyticCost cost(3, quadratic({2, 2, 2}, {10.6, 5, -1.2}));

  const OptimizerRun run = runOptimizer(search, cost, {0, 7, 0});

  ASSERT_EQ(run.rows.size(), 12u);
  for (std::size_t point = 0; point < 12; ++point) {
    const double turn = 10 + 0.5 * static_cast<double>(point % 3),
                 shift = -2 + static_cast<double>(point / 3);
    const double value = (turn - 10.6) * (turn - 10.6) + 4 + (shift + 1.2) * (shift + 1.2);
    EXPECT_EQ(run.positions[point], (std::vector<double>{turn, 7, shift}));
    EXPECT_EQ(run.rows[point].iteration, point);
    EXPECT_NEAR(run.rows[point].value, value, 1e-12);
    EXPECT_EQ(run.rows[point].columns, (std::vector<double>{shift, turn})) << "in the order of the file";
    EXPECT_FLOAT_EQ(run.report.surface.values.at(point), static_cast<float>(value));
  }
  EXPECT_EQ(run.report.surface.size, (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(search.columns(), (std::vector<std::string>{"FS0:shift:2", "FS1:turn:0"}));
  EXPECT_EQ(run.final, (std::vector<double>{10.5, 7, -1}));
  EXPECT_NEAR(run.report.value, 0.01 + 4 + 0.04, 1e-12);
  EXPECT_EQ(run.report.iterations, 12u);
  EXPECT_EQ(run.report.stopCondition, "The full range has been searched.");
  EXPECT_EQ(cost.lines.at(2),
            "Index of the point in the optimization surface image that has the best metric value: [ 1 1 ]");
  EXPECT_EQ(cost.lines.at(3), "The corresponding parameter values: [ 10.5 -1 ]");
}

TEST(FullSearch, SetsParametersWithoutTheirScales)
{
  FullSearch search(parametersOf("(FullSearchSpace0 \"x\" 1 1.0 3.0 1.0)"));
  AnalyticCost cost(2, linear({0, 1}));
  cost.inverseRoots = {1, 0.25}; // a scale of 16

  const OptimizerRun run = runOptimizer(search, cost, {5, 0});

  EXPECT_EQ(run.positions, (std::vector<std::vector<double>>{{5, 4}, {5, 8}, {5, 12}}));
  EXPECT_EQ(run.final, (std::vector<double>{5, 4}));
  EXPECT_TRUE(run.report.surface.size.empty()) << "nobody asked for it";
}

TEST(FullSearch, HasASpaceForEachLevel)
{
  FullSearch search(
      parametersOf("(FullSearchSpace0 \"x\" 0 1.0 3.0 1.0)\n(FullSearchSpace1 \"y\" 1 5.0 5.0 1.0)", 2, 2));
  AnalyticCost cost(2, linear({1, 1}));

  const OptimizerRun run = runOptimizer(search, cost, {5, 0}, 1);

  EXPECT_EQ(run.positions, (std::vector<std::vector<double>>{{5, 5}}));
  EXPECT_EQ(search.columns(), std::vector<std::string>{"FS0:y:1"});
}

TEST(FullSearch, DrawsSamplesForPointsAndAgainIfTooFewAreValid)
{
  FullSearch search(
      parametersOf("(FullSearchSpace0 \"x\" 0 1.0 3.0 1.0)\n(MaximumNumberOfSamplingAttempts 1)"));
  AnalyticCost cost(1, linear({1}));
  cost.newSamples = true;
  cost.badDraws = {{1, 0}};

  const OptimizerRun run = runOptimizer(search, cost, {0});

  EXPECT_EQ(cost.draws, (std::vector<AnalyticCost::DrawKey>{{1, 0}, {1, 1}, {2, 0}}));
  EXPECT_EQ(run.report.iterations, 3u);
}

TEST(FullSearch, GroupsOfPointsGiveWhatSinglePointsGive)
{
  const std::string text = twoAxes + "(WriteOptimizationSurfaceEachResolution \"true\")";
  FullSearch search(parametersOf(text)), bySingles(parametersOf(text));
  CostOfGroups groups(3, quadratic({2, 2, 2}, {10.6, 5, -1.2}));
  AnalyticCost singles(3, quadratic({2, 2, 2}, {10.6, 5, -1.2}));

  const OptimizerRun run = runOptimizer(search, groups, {0, 7, 0}),
                     expected = runOptimizer(bySingles, singles, {0, 7, 0});

  EXPECT_EQ(groups.groups, 3u);
  EXPECT_EQ(groups.evaluated.size(), 12u) << "each point once";
  EXPECT_EQ(run.positions, expected.positions);
  EXPECT_EQ(run.final, expected.final);
  EXPECT_EQ(run.report.surface.values, expected.report.surface.values);
  ASSERT_EQ(run.rows.size(), expected.rows.size());
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    EXPECT_EQ(run.rows[i].iteration, i);
    EXPECT_EQ(run.rows[i].value, expected.rows[i].value);
    EXPECT_EQ(run.rows[i].columns, expected.rows[i].columns);
  }
}

TEST(FullSearch, APointWithoutSamplesInAGroupEndsTheSearchThere)
{
  FullSearch search(parametersOf("(FullSearchSpace0 \"x\" 0 1.0 9.0 1.0)"));
  CostOfGroups cost(1, linear({1}));
  cost.highest = 6.5;
  Buffer<double> position(cost.context(), 1);
  search.prepareForLevel(cost.context(), 0, 1);
  std::vector<double> told;
  const auto sink = [&](const IterationRow& row, std::span<const double>) { told.push_back(row.value); };

  const std::string text =
      errorText([&] { search.minimize(cost, 0, position, sink); }, ExitCode::registrationFailed);

  EXPECT_EQ(told, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(text, "(FullSearchSpace0 ...): the search is at x = 7: analytic cost: 0 of 10 samples are valid");
}

TEST(FullSearch, AStopInAGroupEndsTheSearchThere)
{
  FullSearch search(parametersOf("(FullSearchSpace0 \"x\" 0 1.0 20.0 1.0)"));
  CostOfGroups cost(1, linear({-1}));
  cost.rowsUntilStop = 6;

  const OptimizerRun run = runOptimizer(search, cost, {0});

  EXPECT_TRUE(run.report.wasStopped);
  EXPECT_EQ(run.rows.size(), 6u);
  EXPECT_EQ(run.final, std::vector<double>{6});
}

TEST(FullSearch, RefusesSpacesThatCannotBeSearched)
{
  EXPECT_PRED2(contains, refusal(""), "FullSearchSpace0");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 1.0 2.0)"), "4 values");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 1.0 two 1.0)"), "two");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0.5 1.0 2.0 1.0)"), "0.5");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" -1 1.0 2.0 1.0)"), "at least 0");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 1.0 2.0 0.0)"), "a step above 0");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 2.0 1.0 1.0)"), "has no points");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 0.0 1.0 1e-12)"), "points");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 0.0 1.0 1.0 \"y\" 0 0.0 1.0 1.0)"), "two axes");
  EXPECT_PRED2(contains, refusal("(FullSearchSpace0 \"x\" 0 0.0 1.0 1.0)\n(ConvergenceWindow 5)"),
               "searches its whole grid");
  const std::string fourAxes = "(FullSearchSpace0 \"a\" 0 0 1 1 \"b\" 1 0 1 1 \"c\" 2 0 1 1 \"d\" 3 0 1 1)";
  EXPECT_PRED2(contains, refusal(fourAxes + "\n(WriteOptimizationSurfaceEachResolution \"true\")"), "4 axes");
  EXPECT_PRED2(
      contains,
      refusal(twoAxes + "(WriteOptimizationSurfaceEachResolution \"true\")\n(ResultImageFormat \"png\")"),
      "(WriteOptimizationSurfaceEachResolution \"true\"): image format \"png\": cannot hold pixels");
  FullSearch search{parametersOf(fourAxes)};
  EXPECT_PRED2(contains, errorText([&] { search.prepareForLevel(Context{}, 0, 3); }), "no parameter 3");
}
