#include "Components/Optimizers/Shared/MoreThuenteLineSearch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace tessera;

namespace {

struct Trace {
  LineSearchState end;
  std::vector<LineSearchState> states;
};

Trace search(const LineSearchSettings& settings, const std::function<LinePoint(double)>& function)
{
  Trace trace;
  trace.end = searchLine(settings, function(0), function,
                         [&](const LineSearchState& state) { trace.states.push_back(state); });
  return trace;
}

/// Function 1 of More and Thuente, beta = 2.
LinePoint firstFunction(double step)
{
  const double denominator = step * step + 2;
  return {step, -step / denominator, (step * step - 2) / (denominator * denominator)};
}

/// Function 2, beta = 0.004.
LinePoint secondFunction(double step)
{
  const double s = step + 0.004;
  return {step, std::pow(s, 5) - 2 * std::pow(s, 4), 5 * std::pow(s, 4) - 8 * std::pow(s, 3)};
}

LinePoint parabola(double step)
{
  return {step, (step - 1) * (step - 1), 2 * (step - 1)};
}

bool satisfiesWolfe(const LineSearchSettings& settings, const LinePoint& start, const LinePoint& point)
{
  return point.value <= start.value + settings.valueTolerance * point.step * start.slope
         && std::abs(point.slope) <= settings.gradientTolerance * std::abs(start.slope);
}

}

TEST(MoreThuenteLineSearch, NeedsThePapersEvaluationsForItsFirstFunction)
{
  // Table I of the paper: first step, evaluations, step found
  const struct {
    double first;
    std::size_t evaluations;
    double found;
  } table[] = {{1e-3, 6, 1.4}, {1e-1, 3, 1.4}, {10, 1, 10}, {1e3, 4, 37}};
  for (const auto& row : table) {
    const Trace trace = search({row.first, 1e-3, 1e-1, 20}, firstFunction);

    EXPECT_EQ(trace.states.size(), row.evaluations) << row.first;
    EXPECT_NEAR(trace.end.point.step, row.found, 0.05 * row.found) << row.first; // two digits are printed
    EXPECT_EQ(trace.end.stop, LineSearchStop::wolfeSatisfied);
  }
}

TEST(MoreThuenteLineSearch, NeedsThePapersEvaluationsForItsSecondFunction)
{
  // Table II
  const struct {
    double first;
    std::size_t evaluations;
  } table[] = {{1e-3, 12}, {1e-1, 8}, {10, 8}, {1e3, 11}};
  for (const auto& row : table) {
    const Trace trace = search({row.first, 0.1, 0.1, 20}, secondFunction);

    EXPECT_EQ(trace.states.size(), row.evaluations) << row.first;
    EXPECT_NEAR(trace.end.point.step, 1.6, 0.05) << row.first; // two digits are printed
  }
}

TEST(MoreThuenteLineSearch, TriesTheStepsThatElastixLogs)
{
  // Two line searches of elastix 5.0.1 (2D rigid, mean squares), six decimals printed
  const struct {
    double value, slope, trialValue, trialSlope, nextStep;
  } searches[] = {
      {3468.891583, -60.027144, 3513.000625, 118.842191, 0.244498},
      {3673.975246, -67.220212, 3808.162072, 288.035679, 0.140669},
  };
  for (const auto& row : searches) {
    std::vector<double> steps;
    const auto logged = [&](double step) {
      steps.push_back(step);
      return steps.size() == 1 ? LinePoint{step, row.trialValue, row.trialSlope}
                               : LinePoint{step, row.value - 5, 0};
    };

    searchLine({}, {0, row.value, row.slope}, logged, [](const LineSearchState&) {});

    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0], 1);
    EXPECT_NEAR(steps[1], row.nextStep, 1.5e-6); // printed digits of what goes in and comes out
  }
}

TEST(MoreThuenteLineSearch, ReachesAParabolasMinimumFromBothSides)
{
  for (double first : {0.01, 0.3, 1.0, 1.7, 25.0, 4000.0}) {
    const LineSearchSettings settings{first, 1e-4, 1e-3, 50};

    const Trace trace = search(settings, parabola);

    EXPECT_EQ(trace.end.stop, LineSearchStop::wolfeSatisfied) << first;
    EXPECT_TRUE(satisfiesWolfe(settings, parabola(0), trace.end.point)) << first;
    EXPECT_NEAR(trace.end.point.step, 1, 1e-3) << first; // slope within 1e-3 of the first
  }
}

TEST(MoreThuenteLineSearch, EndsAtTheBestPointWhenIterationsRunOut)
{
  const Trace trace = search({1e-3, 1e-3, 1e-1, 3}, firstFunction); // needs 6

  EXPECT_EQ(trace.end.stop, LineSearchStop::maximumIterations);
  EXPECT_EQ(trace.states.size(), 3u);
  EXPECT_EQ(trace.end.iteration, 2u);
  EXPECT_EQ(trace.end.point.step,
            trace.states[1].point.step); // the last evaluation goes back to the lowest point
  EXPECT_STREQ(nameOf(trace.end.stop), "MaxNrIterations");
}

TEST(MoreThuenteLineSearch, RefusesToClimb)
{
  const Trace trace = search({}, [](double step) { return LinePoint{step, step, 1}; });

  EXPECT_EQ(trace.end.stop, LineSearchStop::ascentDirection);
  EXPECT_TRUE(trace.states.empty());
  EXPECT_EQ(trace.end.point.step, 0);
}

TEST(MoreThuenteLineSearch, EndsAtTheSmallestStepWhenTheSlopeIsWrong)
{
  // the slope promises a descent that never comes
  const LineSearchSettings settings{1, 1e-4, 0.9, 1000};

  const Trace trace = search(settings, [](double step) { return LinePoint{step, step, -1}; });

  EXPECT_EQ(trace.end.stop, LineSearchStop::stepTooSmall);
  EXPECT_EQ(trace.end.point.step, 1e-20);
}
