#include "Core/Compute/Performance/BlockChoice.h"

#include "Core/Compute/Performance/BlockThreads.h"
#include "Core/Compute/Performance/DeviceRates.h"
#include "Core/Compute/Performance/GpuRateNames.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

TEST(BlockChoice, TakesTheLeastPredictedTimeAndAsksOnce)
{
  BlockChoice choice({32, 64, 128});
  int asked = 0;
  const auto launchOf = [&](int threads) {
    ++asked;
    KernelCost cost;
    cost.issueSlots = threads == 64 ? 10000 : 20000;
    return KernelLaunch{"", {cost}, {1e6 / threads, threads, 32, 0, 1024 / threads}};
  };
  EXPECT_EQ(choice.threads(0, 1000, launchOf), 64);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(choice.threads(0, 1000, launchOf), 64);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(choice.threads(0, 2000, launchOf), 64);
  EXPECT_EQ(choice.threads(1, 1000, launchOf), 64);
  EXPECT_EQ(asked, 9);
}

/// A kernel that does less in blocks of 32 threads, of which four times as many must be started.
KernelLaunch ofManyBlocks(int threads)
{
  KernelCost cost;
  cost.issueSlots = threads == 32 ? 400 : 500;
  cost.fp64 = 20;
  cost.chain = {{LatencyClass::cycle, 40}};
  return {"", {cost}, {1e6 / threads, threads, 32, 0, std::min(32, 2048 / threads)}};
}

TEST(BlockChoice, GoesByTheRatesOfTheDevice)
{
  GpuRates slowToStart = usualGpuRates(), fast = usualGpuRates();
  slowToStart.blocksPerSecond = 1e6;
  fast.blocksPerSecond = 1e15;
  setDeviceRates(3, slowToStart);
  setDeviceRates(4, fast);
  BlockChoice choice({32, 128});
  EXPECT_EQ(choice.threads(3, 1000, ofManyBlocks), 128);
  EXPECT_EQ(choice.threads(4, 1000, ofManyBlocks), 32);
  EXPECT_EQ(deviceRates(3).blocksPerSecond, 1e6);
}

TEST(BlockChoice, BlockThreadsDecideInstead)
{
  BlockChoice choice({32, 64, 128});
  const auto never = [](int) -> KernelLaunch { throw 1; };
  const BlockThreads forced(128);
  EXPECT_EQ(choice.threads(0, 1, never), 128);
  const BlockThreads tooMany(1024);
  EXPECT_EQ(choice.threads(0, 1, never), 128);
}

TEST(BlockChoice, UsualRatesAreComplete)
{
  for (const GpuRateName& rate : gpuRateNames())
    EXPECT_GT(usualGpuRates().*rate.value, 0) << rate.name;
}

}
}
