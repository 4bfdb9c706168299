#include "Components/Metrics/Shared/Histograms/CountingPlan.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::size_t sharedBytes = 227 << 10;
constexpr int multiprocessors = 132;
constexpr std::size_t dense = 512 * 228 * 385;

TEST(CountingPlanTest, NoBinCanOverflowAndEverySampleIsCounted)
{
  for (const std::size_t samples :
       {16384ul, 16385ul, 100003ul, 262143ul, 262144ul, 7950000ul, dense, 20 * dense})
    for (const int bins : {4, 8, 32, 64, 100, 128, 200, 256, 400})
      for (const int processors : {1, 7, multiprocessors}) {
        const CountingPlan plan = planCounting(samples, bins, bins, processors, sharedBytes);
        if (plan.ranges == 0) {
          EXPECT_GT(bins, 256);
          continue;
        }
        SCOPED_TRACE(::testing::Message()
                     << samples << " samples, " << bins << " bins, " << processors << " multiprocessors");
        EXPECT_LE(plan.sharedBytes(bins), sharedBytes);
        EXPECT_GE(plan.rows * plan.ranges, bins);
        EXPECT_LT(plan.rows * (plan.ranges - 1), bins);
        EXPECT_EQ(plan.blocks % plan.ranges, 0u);
        const std::size_t aRound = static_cast<std::size_t>(plan.threads) * CountingPlan::samplesAThread;
        EXPECT_GE(aRound * plan.rounds * (plan.blocks / plan.ranges), samples);
        const std::size_t ofCopy = plan.gather ? aRound : aRound >> plan.log2Copies;
        EXPECT_LE((ofCopy * plan.roundsBetweenFlushes) << plan.bits, 0xfffffffful);
        EXPECT_GE(plan.roundsBetweenFlushes, 1u);
        for (const int threads : {32, 64, 96, 512, 1024, 4096}) {
          const CountingPlan other = withThreads(plan, samples, threads);
          EXPECT_LE(other.threads, plan.threads);
          EXPECT_EQ(other.bits, plan.bits) << "results would differ";
          EXPECT_EQ(other.blocks, plan.blocks);
          const std::size_t round = static_cast<std::size_t>(other.threads) * CountingPlan::samplesAThread;
          EXPECT_GE(round * other.rounds * (other.blocks / other.ranges), samples);
          EXPECT_GE(other.roundsBetweenFlushes, 1u);
          EXPECT_LE((other.ofBinARound() * other.roundsBetweenFlushes) << other.bits, 0xfffffffful);
        }
        EXPECT_GE(plan.bits, CountingPlan::fewestBits);
        EXPECT_LE(plan.bits, CountingPlan::maxBits);
      }
}

TEST(CountingPlanTest, FewSamplesAndVeryManyBinsHaveNoPlan)
{
  EXPECT_EQ(planCounting(2048, 32, 32, multiprocessors, sharedBytes).ranges, 0);
  EXPECT_EQ(planCounting(dense, 4096, 4096, multiprocessors, sharedBytes).ranges, 0);
}

TEST(CountingPlanTest, UsualHistogramsHaveSeveralCopiesAndLargeOnesSeveralRanges)
{
  const CountingPlan small = planCounting(dense, 32, 32, multiprocessors, sharedBytes);
  EXPECT_EQ(small.log2Copies, 5);
  EXPECT_EQ(small.roundsBetweenFlushes, small.rounds);
  const CountingPlan usual = planCounting(dense, 64, 64, multiprocessors, sharedBytes);
  EXPECT_EQ(usual.log2Copies, 3);
  EXPECT_EQ(usual.roundsBetweenFlushes, usual.rounds);
  EXPECT_FALSE(usual.gather);
  const CountingPlan large = planCounting(dense, 256, 256, multiprocessors, sharedBytes);
  EXPECT_EQ(large.ranges, 2);
  EXPECT_TRUE(large.gather);
  EXPECT_LT(large.roundsBetweenFlushes, large.rounds);
}

}
}
