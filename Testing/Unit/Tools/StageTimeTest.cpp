// needs: Register
#include "Tools/Register/StageTime.h"

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
  return cudaSeconds(calibration, work);
}

StageWork with(double StageWork::*count, double items)
{
  StageWork work;
  work.*count = items;
  return work;
}

TEST(StageTimeTest, EachItemAddsItsTime)
{
  StageWork all;
  double sumOfCpu = 0, sumOfCuda = 0;
  for (double StageWork::*count : {&StageWork::evaluations, &StageWork::samples, &StageWork::voxels,
                                   &StageWork::parameters, &StageWork::imageVoxels}) {
    all.*count = 1e6;
    EXPECT_GT(cpu(with(count, 1e6)), 0);
    EXPECT_NEAR(cpu(with(count, 3e6)), 3 * cpu(with(count, 1e6)), 1e-9);
    sumOfCpu += cpu(with(count, 1e6));
    sumOfCuda += cuda(with(count, 1e6)) - cuda({});
  }
  EXPECT_NEAR(cpu(all), sumOfCpu, 1e-9);
  EXPECT_NEAR(cuda(all) - cuda({}), sumOfCuda, 1e-9);
}

TEST(StageTimeTest, AStageThatConvergesProbablyDoesAShareOfItsEvaluations)
{
  StageWork work;
  work.evaluations = work.samples = work.farSamples = work.voxels = work.parameters = work.imageVoxels = 1000;
  EXPECT_EQ(cpu(work.expected()), cpu(work));
  work.expectedShare = 0.25;
  EXPECT_EQ(work.expected().voxels, 250);
  EXPECT_EQ(work.expected().evaluations, 250);
  EXPECT_EQ(work.expected().parameters, 250);
  EXPECT_EQ(work.expected().imageVoxels, 1000);
  EXPECT_EQ(work.expected().expected().voxels, 250);
}

TEST(StageTimeTest, ThreadsShareSamplesAndTakeTimeInEachEvaluation)
{
  const StageWork samples = with(&StageWork::samples, 1e8), evaluations = with(&StageWork::evaluations, 1e4);
  EXPECT_NEAR(cpuSeconds(shippedCalibration(), samples, 16),
              cpuSeconds(shippedCalibration(), samples, 1) / 16, 1e-9);
  EXPECT_GT(cpuSeconds(shippedCalibration(), evaluations, 16),
            cpuSeconds(shippedCalibration(), evaluations, 1));
}

TEST(StageTimeTest, TheRatesAreThoseOfTheMachine)
{
  Calibration other = shippedCalibration();
  for (ThreadRate& rate : other.of(3).cpu)
    rate.oneThread *= 2;
  for (double& rate : other.of(3).cuda)
    rate *= 3;
  const StageWork samples = with(&StageWork::samples, 1e9), evaluations = with(&StageWork::evaluations, 1e4);
  EXPECT_NEAR(cpu(samples, other), 2 * cpu(samples), 1e-6);
  EXPECT_NEAR(cuda(samples, other) - cuda({}, other), 3 * (cuda(samples) - cuda({})), 1e-6);
  EXPECT_NEAR(cuda(evaluations, other), cuda(evaluations), 1e-9); // the time of launches
}

}
}
