#include "Core/Registration/Samples/StripePlan.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(StripePlanTest, StripesCoverAllPositionsOnce)
{
  for (const std::size_t positions : {0, 1, 63, 511, 1023, 1024, 2048, 5000, 100003, 16777259})
    for (const std::size_t parameters : {6, 14589, 3000000}) {
      const StripePlan plan = planStripes(positions, parameters);

      std::size_t next = 0;
      for (std::size_t stripe = 0; stripe < plan.stripes; ++stripe) {
        EXPECT_EQ(plan.first(stripe), next);
        next = plan.last(stripe);
        EXPECT_GE(next, plan.first(stripe));
      }
      EXPECT_EQ(next, positions) << positions << " positions, " << parameters << " parameters";
    }
}

TEST(StripePlanTest, SmallWorkIsOneStripeAndUsualWorkFour)
{
  EXPECT_EQ(planStripes(1000, 6).stripes, 1u);
  EXPECT_EQ(planStripes(1024, 6).stripes, 2u);
  EXPECT_EQ(planStripes(2048, 14589).stripes, 4u);
  EXPECT_EQ(planStripes(10000000, 14589).stripes, 64u);
}

TEST(StripePlanTest, GradientBuffersAreBounded)
{
  for (const std::size_t parameters : {1000000, 3000000, 20000000}) {
    const std::size_t stripes = planStripes(100000000, parameters).stripes;

    EXPECT_TRUE(stripes == 1 || stripes * parameters * sizeof(double) <= std::size_t(64) << 20) << parameters;
  }
  EXPECT_EQ(planStripes(2048, 1000000).stripes, 2u) << "few samples do not pay for many large gradients";
}

TEST(StripedGradientTest, SumsStripesInTheirOrder)
{
  for (const std::size_t count : {1, 4095, 4096, 10001}) {
    std::vector<double> gradient(count, 99.0), expected(count);
    StripedGradient striped;
    for (int round = 0; round < 2; ++round) { // buffers are reused
      striped.begin(gradient, 3);
      for (const std::size_t stripe : {2, 0, 1}) {
        const std::span<double> values = striped.clearedStripe(stripe);
        for (std::size_t i = 0; i < count; ++i)
          values[i] += 0.1 * static_cast<double>(stripe + 1) + static_cast<double>(i);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const auto x = static_cast<double>(i);
        expected[i] = (((0.1 + x) + (0.2 + x)) + (0.1 * 3.0 + x)) * 0.5;
      }

      striped.sum(Context{{}, 3}, 0.5);

      EXPECT_EQ(gradient, expected) << "count " << count;
    }
  }
}

}
}
