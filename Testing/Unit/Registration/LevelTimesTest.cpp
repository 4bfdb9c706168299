#include "Core/Registration/Stage/LevelTimes.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tessera {
namespace {

/// Two terms, the second without parts; 20 ms of values and 60 ms with gradients, of 100.
LevelTimes<3> twoTerms(const std::string& device)
{
  LevelTimes<3> times;
  times.total = 100;
  times.preparation = 4;
  times.minimizing = 90;
  times.reporting = 3;
  times.reportingBefore = 1;
  times.transfers = device == "cpu" ? 0 : 2;
  times.cost.evaluations = {20, 60};
  times.cost.ofTerms = {{15, 40}, {4, 18}};
  times.cost.sampling = 2;
  times.cost.stepSizes = 1;
  times.cost.onGrid = 2.5;
  times.samplingBefore = 0.5;
  times.phases[0] = {{{"transform", 1}, {"metric", 3}}, {}};
  times.phases[1] = {{{"transform", 1}, {"metric", 2}, {"pull-back", 1}}, {}};
  if (device != "cpu")
    times.phases[0][1] = times.phases[1][1] = {{"", 4}};
  times.termNames = {"NormalizedMutualInformation", "TransformBendingEnergyPenalty"};
  times.device = device;
  times.deviceOfVectors = device;
  return times;
}

const TimeRow& rowOf(const std::vector<TimeRow>& rows, const std::string& part)
{
  static const TimeRow missing{"missing", -1, ""};
  for (const TimeRow& row : rows)
    if (row.part == part)
      return row;
  return missing;
}

double sumOf(const std::vector<TimeRow>& rows)
{
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const TimeRow& row) { return sum + row.milliseconds; });
}

constexpr double rounding = 1e-12; // a dozen operations on numbers up to 100

TEST(LevelTimes, OnCudaEvaluationsGoToThePartsOfAllTermsInProportion)
{
  const std::vector<TimeRow> rows = timeTable(twoTerms("cuda:0"));

  EXPECT_NEAR(rowOf(rows, "transform").milliseconds, 20 * 1 / 8.0 + 60 * 1 / 8.0, rounding);
  EXPECT_NEAR(rowOf(rows, "metric").milliseconds, 20 * 3 / 8.0 + 60 * 2 / 8.0, rounding);
  EXPECT_NEAR(rowOf(rows, "pull-back").milliseconds, 60 * 1 / 8.0, rounding);
  EXPECT_NEAR(rowOf(rows, "TransformBendingEnergyPenalty").milliseconds, 80 / 2.0, rounding);
  EXPECT_EQ(rowOf(rows, "transform").device, "cuda:0");
  EXPECT_NEAR(sumOf(rows), 100, rounding);
}

TEST(LevelTimes, OnTheCpuEachTermsOwnTimeGoesToItsParts)
{
  const std::vector<TimeRow> rows = timeTable(twoTerms("cpu"));

  EXPECT_NEAR(rowOf(rows, "transform").milliseconds, 15 / 4.0 + 40 / 4.0, rounding);
  EXPECT_NEAR(rowOf(rows, "metric").milliseconds, 15 * 3 / 4.0 + 40 / 2.0, rounding);
  EXPECT_NEAR(rowOf(rows, "pull-back").milliseconds, 40 / 4.0, rounding);
  EXPECT_NEAR(rowOf(rows, "TransformBendingEnergyPenalty").milliseconds, 4 + 18, rounding);
  EXPECT_NEAR(sumOf(rows), 100, rounding);
}

// 10 evaluations of values of 1 to 4 ms, and 20 with gradients of 2 to 6 ms.
TEST(LevelTimes, PartsOfEvaluationsTellHowOftenTheyRanAndTheirRange)
{
  LevelTimes<3> times = twoTerms("cuda:0");
  times.cost.launches = {{{10, 1, 4}, {20, 2, 6}}};

  const std::vector<TimeRow> rows = timeTable(times);

  const TimeRow &transform = rowOf(rows, "transform"), &pullBack = rowOf(rows, "pull-back");
  EXPECT_EQ(transform.launches, 30u);
  EXPECT_NEAR(transform.leastMilliseconds, 1 / 8.0, rounding);
  EXPECT_NEAR(transform.mostMilliseconds, 6 / 8.0, rounding);
  EXPECT_EQ(pullBack.launches, 20u);
  EXPECT_NEAR(pullBack.leastMilliseconds, 2 / 8.0, rounding);
  EXPECT_EQ(rowOf(rows, "optimizer").launches, 0u);
}

TEST(LevelTimes, OptimizerIsWhatItsTimeHoldsBesideEvaluationsDrawsStepSizesAndReports)
{
  const double besideEvaluations = 90 - (2 - 0.5) - 1 - 2.5 - (3 - 1);

  EXPECT_NEAR(rowOf(timeTable(twoTerms("cuda:0")), "optimizer").milliseconds, besideEvaluations - 80,
              rounding);
  EXPECT_NEAR(rowOf(timeTable(twoTerms("cpu")), "optimizer").milliseconds, besideEvaluations - 77, rounding);
}

TEST(LevelTimes, WhatRunsOnTheHostSaysSo)
{
  const std::vector<TimeRow> rows = timeTable(twoTerms("cuda:1"));

  for (const char* part : {"preparation", "step sizes", "reporting", "other"})
    EXPECT_EQ(rowOf(rows, part).device, "cpu") << part;
  for (const char* part : {"sampling", "exact gradients", "optimizer", "transfers"})
    EXPECT_EQ(rowOf(rows, part).device, "cuda:1") << part;
}

TEST(LevelTimes, PartsThatDidNotTakePlaceAreNoRows)
{
  LevelTimes<3> times = twoTerms("cpu");
  times.cost.evaluations[1] = 0;
  times.cost.ofTerms[0][1] = times.cost.ofTerms[1][1] = 0;

  const std::vector<TimeRow> rows = timeTable(times);

  EXPECT_EQ(rowOf(rows, "pull-back").part, "missing");
  EXPECT_EQ(rowOf(rows, "transfers").part, "missing");
  EXPECT_NEAR(sumOf(rows), 100, rounding);
}

TEST(LevelTimes, PartsOfAnEvaluationHaveRowsEvenIfNoTimeWasSeen)
{
  LevelTimes<3> times = twoTerms("cpu");
  times.phases[1][0][2].milliseconds = 0; // a difference of two times

  EXPECT_EQ(rowOf(timeTable(times), "pull-back").milliseconds, 0);
}

}
}
