// needs: Tools, Model
#include "Tools/Bench/Model/KernelModels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera {
namespace {

// Round numbers, so that predictions can be worked out by hand. The exponent is so large that the smaller
// bound does not count.
GpuRates device()
{
  GpuRates rates;
  rates.multiprocessors = 10;
  rates.clockGHz = 1;
  rates.schedulers = 4;
  rates.maxBlocks = 32;
  rates.maxWarps = 64;
  rates.registers = 65536;
  rates.sharedBytes = 228 << 10;
  rates.reservedSharedBytes = 1024;
  rates.latencyFp32 = 4;
  rates.latencyFp64 = 16;
  rates.latencySpecial = 20;
  rates.latencySpecialFp64 = 45;
  rates.latencyConstant = 35;
  rates.latencyShared = 30;
  rates.latencyL1 = 40;
  rates.latencyL2 = 250;
  rates.latencyDram = 400;
  rates.latencyBarrier = 50;
  rates.issue = 4;
  rates.fp32 = 4;
  rates.fp64 = 2;
  rates.special = 0.5;
  rates.integer = 2;
  rates.l1Wavefronts = rates.sharedWavefronts = 1;
  rates.sharedAtomics = 0.5;
  rates.l2Bytes = 2.56e12;
  rates.l2BytesOfOne = 64e9;
  rates.dramReadBytes = 1.28e12;
  rates.dramWriteBytes = 0.64e12;
  rates.dramCopyBytes = 1.024e12;
  rates.atomicSectors = 1e11;
  rates.meetingSectors = 2e10;
  rates.blocksPerSecond = 1e9;
  rates.launchSeconds = 2e-6;
  rates.exponent = 1000;
  return rates;
}

/// 200 blocks of 4 warps, of which a multiprocessor has 5 at a time: 4 waves.
KernelLaunch fourWaves(const KernelCost& cost)
{
  return {"", {cost}, {200, 128, 32, 0, 5}};
}

double micro(const Prediction& prediction)
{
  return 1e6 * prediction.seconds;
}

TEST(KernelModels, TheBusiestUnitBoundsAWave)
{
  KernelCost cost;
  cost.issueSlots = 400; // 20 warps: 8000 slots, 2000 cycles a wave
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 2.0, 1e-9);
  EXPECT_EQ(predict(device(), fourWaves(cost)).boundBy, "issue slots");
  cost.fp64 = 300; // 3000 cycles
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 3.0, 1e-9);
  EXPECT_EQ(predict(device(), fourWaves(cost)).boundBy, "fp64");
  cost.special = 100; // 4000 cycles
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 4.0, 1e-9);
  cost.l1Wavefronts = 100, cost.sharedWavefronts = 50, cost.sharedAtomics = 50; // 2000 + 1000 + 2000
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 5.0, 1e-9);
  EXPECT_EQ(predict(device(), fourWaves(cost)).boundBy, "L1 and shared memory");
}

TEST(KernelModels, MemoryIsSharedByAllMultiprocessors)
{
  KernelCost cost;
  cost.dramReadBytes = 1280; // 800 warps: 1.024 MB at 1.28 TB/s
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 0.8, 1e-9);
  cost.dramReadBytes = cost.dramWrittenBytes = 640; // at the rate of a copy
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 1.0, 1e-9);
  EXPECT_EQ(predict(device(), fourWaves(cost)).boundBy, "DRAM");
  cost.dramWrittenBytes = 1280; // the 640 that no reading goes with, at the rate of writing
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 1.0 + 0.8, 1e-9);
  cost = {};
  cost.l2Sectors = 160; // 800 warps: 4.096 MB at 2.56 TB/s; a multiprocessor has 640 GB/s in all: less
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 6.4, 1e-9);
  EXPECT_EQ(predict(device(), fourWaves(cost)).boundBy, "L2 of one");
  cost = {};
  cost.atomicSectors = 1000; // 8e5 at 1e11 a second
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 8.0, 1e-9);
  cost.meetingSectors = 100; // 8e4 at 2e10
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 12.0, 1e-9);
}

TEST(KernelModels, AWarpAloneWaitsForItsChain)
{
  KernelCost cost;
  cost.chain = {{LatencyClass::dram, 8, 4}, {LatencyClass::cycle, 200}}; // 2 * 400 + 200 cycles
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 1.0, 1e-9);
  EXPECT_EQ(predict(device(), fourWaves(cost)).boundBy, "latency");
  cost.chain = {{LatencyClass::special, 1}, {LatencyClass::constant, 2}, {LatencyClass::shared, 1},
                {LatencyClass::l1, 2},      {LatencyClass::l2, 1},       {LatencyClass::barrier, 1}};
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 0.5, 1e-9);
  cost.chain = {{LatencyClass::specialFp64, 20}};
  EXPECT_NEAR(micro(predict(device(), fourWaves(cost))), 2 + 4 * 0.9, 1e-9);
}

TEST(KernelModels, AWarpStartsOneInstructionACycle)
{
  KernelCost cost;
  cost.issueSlots = 1000;
  EXPECT_NEAR(micro(predict(device(), {"", {cost}, {10, 32, 32, 0, 1}})), 2 + 1.0, 1e-9);
}

TEST(KernelModels, BothBoundsTogetherTakeLongerThanEach)
{
  GpuRates rates = device();
  rates.exponent = 2;
  KernelCost cost;
  cost.fp64 = 300;                         // 3000 cycles a wave, 600 with a block alone
  cost.chain = {{LatencyClass::dram, 10}}; // 4000 cycles
  const double alone = std::hypot(0.6, 4.0);
  EXPECT_NEAR(micro(predict(rates, fourWaves(cost))), 2 + 4 * std::hypot(3.0, alone), 1e-9);
}

TEST(KernelModels, PhasesOfABlockDoNotOverlap)
{
  KernelCost reading, computing;
  reading.chain = {{LatencyClass::dram, 5}}; // 2000 cycles
  computing.fp64 = 500;                      // 4 warps: 1000 cycles
  const LaunchShape oneAtATime{10, 128, 32, 0, 1};
  EXPECT_NEAR(micro(predict(device(), {"", {reading, computing}, oneAtATime})), 2 + 3.0, 1e-9);
  // Several blocks fill each other's gaps: 10 blocks compute for 10000 cycles.
  const LaunchShape ten{100, 128, 32, 0, 10};
  EXPECT_NEAR(micro(predict(device(), {"", {reading, computing}, ten})), 2 + 10.0, 1e-9);
}

TEST(KernelModels, BlocksStartOneAfterTheOther)
{
  KernelCost cost;
  cost.issueSlots = 1;
  EXPECT_NEAR(micro(predict(device(), {"", {cost}, {320000, 32, 16, 0, 32}})), 2 + 320.0, 1e-9);
  EXPECT_EQ(predict(device(), {"", {cost}, {320000, 32, 16, 0, 32}}).boundBy, "starting blocks");
}

TEST(KernelModels, TheLastWaveHasAnOccupancyOfItsOwn)
{
  KernelCost cost;
  cost.issueSlots = 400;
  KernelLaunch launch = fourWaves(cost);
  launch.shape.blocks = 211; // 11 more: the busiest multiprocessor has 2 of them, 800 cycles
  EXPECT_NEAR(micro(predict(device(), launch)), 2 + 4 * 2.0 + 0.8, 1e-9);
}

TEST(KernelModels, WuCountsWarpsOfOneBlock)
{
  KernelCost cost;
  cost.fp32 = 100;
  cost.globalInstructions = 2;
  cost.barriers = 1;
  // Arithmetic: 100 * 4 / 4 = 100 cycles. Memory: 2 * 400 / 64 = 12.5, as 64 warps are active and a
  // transaction leaves each cycle. Barrier: 63 / 4 = 15.75. 40 warps on each multiprocessor.
  KernelLaunch launch{"", {cost}, {100, 128, 32, 0, 16}};
  EXPECT_NEAR(micro(predictByWu(device(), launch)), 40 * 0.11575, 1e-9);
  EXPECT_EQ(predictByWu(device(), launch).boundBy, "arithmetic");
  // With blocks of one warp the model lets the other 31 active warps wait.
  cost.barriers = 0;
  EXPECT_NEAR(micro(predictByWu(device(), {"", {cost}, {400, 32, 32, 0, 32}})), 40 * 0.4, 1e-9);
}

// Equation 3: 4 numbers that a thread spills are stored and loaded, 8 accesses of 32 lanes, 30 cycles each.
TEST(KernelModels, WuCountsSpilledRegistersAsSharedMemory)
{
  KernelLaunch launch{"", {{}}, {400, 32, 32, 0, 32}};
  launch.shape.localBytes = 16;
  KernelCost shared;
  shared.sharedInstructions = shared.sharedWavefronts = 8 * 32;
  EXPECT_GT(predictByWu(device(), launch).seconds, 0);
  EXPECT_DOUBLE_EQ(predictByWu(device(), launch).seconds,
                   predictByWu(device(), {"", {shared}, {400, 32, 32, 0, 32}}).seconds);
}

// Equations 22 and 23: 2 MB up at 20 GB/s, 1 MB down at 10 GB/s.
TEST(KernelModels, CopiesTakeTheirBytesByTheRatesOfTheBus)
{
  GpuRates rates = device();
  rates.pinnedUpload = 20e9;
  rates.pinnedDownload = 10e9;
  EXPECT_NEAR(1e6 * transferSeconds(rates, 2e6, 1e6), 100 + 100, 1e-9);
  EXPECT_EQ(transferSeconds(rates, 0, 0), 0);
}

TEST(KernelModels, HongAndKimHideComputingBehindMemory)
{
  KernelCost cost;
  cost.issueSlots = 200; // 50 cycles
  cost.globalInstructions = cost.l1Wavefronts = 2;
  cost.barriers = 1;
  // 40 warps: MWP = 40 (both bounds are 400), CWP = 850 / 50 = 17; 400 + 50 * 40 cycles, and 39 * 10 for the
  // barriers of 10 blocks.
  const KernelLaunch launch{"", {cost}, {100, 128, 32, 0, 16}};
  EXPECT_NEAR(micro(predictByHongAndKim(device(), launch)), 2.79, 1e-9);
  // With a tenth of the bandwidth MWP is 40 by both bounds of memory; with a hundredth it is 4, less than
  // CWP: 800 * 40 / 4 + 25 * 3.
  GpuRates slow = device();
  slow.dramReadBytes = 1.28e10;
  cost.barriers = 0;
  EXPECT_NEAR(micro(predictByHongAndKim(slow, {"", {cost}, {100, 128, 32, 0, 16}})), 8.075, 1e-9);
}

TEST(KernelModels, TasksAreSharedOutAmongTheWarpsOfABlock)
{
  KernelCost head, task;
  head.barriers = 1;
  head.issueSlots = 10;
  head.chain = {{LatencyClass::barrier, 1}};
  task.issueSlots = 100;
  task.chain = {{LatencyClass::cycle, 200}, {LatencyClass::l2, 10, 10}};
  // 1000 tasks are 32 shares of a warp; with 3 warps one has 11, the mean 10.67
  const KernelCost mean = sharedTasks(1000, 96, head, task);
  EXPECT_EQ(mean.barriers, 1);
  EXPECT_NEAR(mean.issueSlots, 10 + 100 * 32.0 / 3, 1e-9);
  ASSERT_EQ(mean.chain.size(), 3u);
  EXPECT_EQ(mean.chain[0].operations, 1);
  EXPECT_NEAR(mean.chain[1].operations, 200 * 11, 1e-9);
  EXPECT_NEAR(mean.chain[2].operations, 10 * 11, 1e-9);
  EXPECT_EQ(mean.chain[2].inFlight, 10);
  // fewer tasks than warps: most warps do nothing, and the block waits for the one that does
  const KernelCost few = sharedTasks(20, 256, head, task);
  EXPECT_NEAR(few.issueSlots, 10 + 100 / 8.0, 1e-9);
  EXPECT_NEAR(few.chain[1].operations, 200, 1e-9);
}

TEST(KernelModels, ActiveBlocksAreBoundByTheScarcest)
{
  const GpuRates rates = device();
  EXPECT_EQ(activeBlocks(rates, {1, 32, 16, 0, 0}), 32);         // blocks
  EXPECT_EQ(activeBlocks(rates, {1, 256, 32, 0, 0}), 8);         // warps
  EXPECT_EQ(activeBlocks(rates, {1, 256, 64, 0, 0}), 4);         // registers
  EXPECT_EQ(activeBlocks(rates, {1, 96, 255, 0, 0}), 2);         // 8 warps of 8192 registers
  EXPECT_EQ(activeBlocks(rates, {1, 128, 32, 100 << 10, 0}), 2); // shared memory
  EXPECT_EQ(activeBlocks(rates, {1, 1024, 65, 0, 0}), 0);        // cannot be launched
}

TEST(KernelModels, TheFastestBlockSizeIsChosen)
{
  KernelCost slow, quick;
  slow.issueSlots = 400;
  quick.issueSlots = 300;
  const std::vector<KernelLaunch> launches{fourWaves(slow), fourWaves(quick), fourWaves(quick)};
  EXPECT_EQ(fastest(device(), launches), 1u);
}

TEST(KernelModels, OfEquallyFastBlockSizesTheOneNearestTo128ThreadsIsChosen)
{
  const std::vector<int> threads{32, 64, 128, 256, 1024};
  const auto chosen = [&](const std::vector<double>& seconds) { return chosenBlockSize(seconds, threads); };
  EXPECT_EQ(chosen({1, 1, 1, 1, 1}), 2u);
  EXPECT_EQ(chosen({1, 1.005, 1.02, 1.3, 2}), 1u); // 128 is slower by more than a hundredth
  EXPECT_EQ(chosen({3, 1.005, 2, 1, 1.001}), 1u);  // 64 and 256 are as near, the smaller comes first
  EXPECT_EQ(chosen({3, 3, 3, 3, 1}), 4u);
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(chosen({none, none, none, none, none}), 0u); // and no index beyond the block sizes
}

}
}
