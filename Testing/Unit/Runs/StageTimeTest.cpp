// needs: Runs
#include "Core/Runs/Prediction/StageTime.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr int threads = 4;

double cpu(const StageWork& work, const Calibration& calibration = shippedCalibration())
{
  return cpuSeconds(calibration, work, threads);
}

double cuda(const StageWork& work, const Calibration& calibration = shippedCalibration())
{
  return cudaSeconds(calibration, work, threads);
}

/// A stage of one level with so many evaluations, each with a gradient.
StageWork stageOf(double evaluations, const TermWork& term = {}, double parameters = 0)
{
  StageWork work;
  work.levels = {
      {.evaluations = evaluations, .gradients = evaluations, .parameters = parameters, .terms = {term}}};
  return work;
}

/// The time of so many evaluations, without the start and the end of the stage.
double cpuOf(double evaluations, const TermWork& term, double parameters = 0)
{
  return cpu(stageOf(2 * evaluations, term, parameters)) - cpu(stageOf(evaluations, term, parameters));
}
double cudaOf(double evaluations, const TermWork& term)
{
  return cuda(stageOf(2 * evaluations, term)) - cuda(stageOf(evaluations, term));
}

TEST(StageTimeTest, EachItemAddsItsTime)
{
  TermWork all;
  double sumOfCpu = 0, sumOfCuda = 0;
  const double cpuAlone = cpuOf(1, {}), cudaAlone = cudaOf(1, {});
  EXPECT_GT(cpuAlone, 0);
  EXPECT_GT(cudaAlone, 0);
  for (double TermWork::*count :
       {&TermWork::samples, &TermWork::voxels, &TermWork::points, &TermWork::cudaSamples,
        &TermWork::cudaVoxels, &TermWork::cpuNanoseconds, &TermWork::cudaNanoseconds}) {
    TermWork term;
    term.*count = 3e7;
    sumOfCpu += cpuOf(1, term) - cpuAlone;
    sumOfCuda += cudaOf(1, term) - cudaAlone;
    all.*count = 3e7;
    EXPECT_NEAR(cpuOf(3, term), 3 * cpuOf(1, term), 1e-9);
  }
  EXPECT_NEAR(cpuOf(1, all) - cpuAlone, sumOfCpu, 1e-9);
  EXPECT_NEAR(cudaOf(1, all) - cudaAlone, sumOfCuda, 1e-9);
  EXPECT_GT(cpuOf(1, {}, 1e6), cpuAlone);
}

TEST(StageTimeTest, TheTimeOfATermIsAddedAsItIsTold)
{
  const Calibration& calibration = shippedCalibration();
  const TermWork told{
      .stripes = 64, .cpuNanoseconds = 4e6, .cudaNanoseconds = 2e6, .cudaLaunchNanoseconds = 1e6};
  TermWork none = told;
  none.cpuNanoseconds = none.cudaNanoseconds = none.cudaLaunchNanoseconds = 0;
  EXPECT_NEAR(cpuOf(10, told) - cpuOf(10, none), 10 * 4e-3 / calibration.cpuSpeedup(threads), 1e-9);
  EXPECT_NEAR(cudaOf(10, told) - cudaOf(10, none), 10 * 3e-3, 1e-9);
}

TEST(StageTimeTest, AStageThatConvergesProbablyDoesAShareOfItsEvaluations)
{
  StageWork work = stageOf(1000, {.samples = 10}, 7);
  work.imageVoxels = 1000;
  EXPECT_EQ(cpu(work.expected()), cpu(work));
  work.expectedShare = 0.25;
  EXPECT_EQ(work.expected().levels[0].evaluations, 250);
  EXPECT_EQ(work.expected().levels[0].gradients, 250);
  EXPECT_EQ(work.expected().levels[0].terms[0].samples, 10);
  EXPECT_EQ(work.expected().imageVoxels, 1000);
  EXPECT_EQ(work.expected().expected().levels[0].evaluations, 250);
}

TEST(StageTimeTest, NoMoreThreadsTakePartThanAnEvaluationHasParts)
{
  const Calibration& calibration = shippedCalibration();
  const StageWork two = stageOf(1000, {.samples = 2000, .stripes = 2}),
                  many = stageOf(10, {.samples = 1e7, .stripes = 64});
  EXPECT_EQ(cpuSeconds(calibration, two, 16), cpuSeconds(calibration, two, 2));
  EXPECT_LT(cpuSeconds(calibration, two, 2), 0.7 * cpuSeconds(calibration, two, 1));
  EXPECT_LT(cpuSeconds(calibration, many, 16), cpuSeconds(calibration, many, 1) / 8);
  EXPECT_EQ(calibration.cpuSpeedup(1), 1);
}

TEST(StageTimeTest, ASearchRunsOnTheCpuByNoMoreThreadsThanItHasParts)
{
  const Calibration& calibration = shippedCalibration();
  StageWork work = stageOf(100);
  const auto more = [&](auto seconds, int threads, std::vector<SearchPart> search) {
    StageWork searched = work;
    searched.search = std::move(search);
    return seconds(calibration, searched, threads) - seconds(calibration, work, threads);
  };
  const auto onCpu = [](const Calibration& c, const StageWork& w, int t) { return cpuSeconds(c, w, t); };
  const auto onCuda = [](const Calibration& c, const StageWork& w, int t) { return cudaSeconds(c, w, t); };
  const double one = more(onCpu, 1, {{1e7, 4}});
  EXPECT_NEAR(one, 1e7 * 12e-9, 1e-6);
  EXPECT_NEAR(more(onCuda, 1, {{1e7, 4}}), one, 1e-9);
  EXPECT_NEAR(more(onCpu, 1, {{1e7, 4}, {1e7, 100}}), 2 * one, 1e-9);
  EXPECT_NEAR(more(onCpu, 16, {{1e7, 4}}), one / calibration.cpuSpeedup(4), 1e-9);
  EXPECT_NEAR(more(onCpu, 16, {{1e7, 100}}), one / calibration.cpuSpeedup(16), 1e-9);
}

TEST(StageTimeTest, TheResultImageIsAddedWithoutTheStartOfADevice)
{
  const Calibration& calibration = shippedCalibration();
  StageWork work = stageOf(100);
  const double cpuBefore = cpu(work), cudaBefore = cuda(work);
  work.result.cpu.add(Work::directCubic, 1e8);
  work.result.cuda.add(Work::directCubic, 1e8);
  const auto kind = static_cast<std::size_t>(Work::directCubic);
  EXPECT_NEAR(cpu(work) - cpuBefore,
              0.1 * calibration.of(3).cpu[kind].nanoseconds(calibration.threads, threads), 1e-9);
  EXPECT_NEAR(cuda(work) - cudaBefore, 0.1 * calibration.of(3).cuda[kind], 1e-9);
}

TEST(StageTimeTest, ValuesWithoutGradientTakeLessOnCuda)
{
  StageWork values = stageOf(1000, {.voxels = 1e7});
  const double withGradients = cuda(values);
  values.levels[0].gradients = 0;
  EXPECT_LT(cuda(values), 0.7 * withGradients);
}

TEST(StageTimeTest, EachNumberOfThreadsIsAsFastAsItIsHere)
{
  Calibration other = shippedCalibration(); // one thread is as fast, all are half as fast
  for (const Work work : {Work::directLinear, Work::pointLinear, Work::pointAlignedSpline, Work::pointSpline})
    other.of(3).cpu[static_cast<std::size_t>(work)].allThreads *= 2;
  other.of(3).cpu[static_cast<std::size_t>(Work::pointLinearTransform)].oneThread = 0; // too short to measure
  const StageWork many = stageOf(10, {.samples = 1e7, .stripes = 64});
  EXPECT_EQ(cpuSeconds(other, many, 1), cpuSeconds(shippedCalibration(), many, 1));
  EXPECT_NEAR(cpuSeconds(other, many, 16), 2 * cpuSeconds(shippedCalibration(), many, 16),
              0.01 * cpuSeconds(other, many, 16));
}

TEST(StageTimeTest, TheRatesAreThoseOfTheMachine)
{
  Calibration other = shippedCalibration();
  for (ThreadRate& rate : other.of(3).cpu) {
    rate.oneThread *= 2;
    rate.allThreads *= 2;
  }
  for (double& rate : other.of(3).cuda)
    rate *= 3;
  const StageWork samples = stageOf(1000, {.samples = 1e6, .stripes = 64}), evaluations = stageOf(1e4);
  EXPECT_NEAR(cpu(samples, other), 2 * cpu(samples), 1e-6);
  const double launches = cuda(stageOf(1000)), first = cuda(stageOf(0, {.samples = 1e6})) - cuda(stageOf(0));
  EXPECT_NEAR(cuda(samples, other) - launches - first, 3 * (cuda(samples) - launches - first), 1e-6);
  EXPECT_NEAR(cuda(evaluations, other), cuda(evaluations), 1e-9); // the time of launches
}

}
}
