// needs: GPU
#include "Components/Metrics/RobustNormalizedCorrelation.h"

#include "Testing/Support/Naive/NaiveRobustCorrelation.h"
#include "Testing/Support/OnGpu/LatticeMetricOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

using RobustNormalizedCorrelationOnCudaTest = testing::GpuTest;

TEST_F(RobustNormalizedCorrelationOnCudaTest, IsThatOfTheCpuAndRepeatsItsBits)
{
  for (const std::array<std::size_t, 3> size : {std::array<std::size_t, 3>{1, 3, 1},
                                                {7, 5, 1},
                                                {66, 2, 2},
                                                {9, 7, 5},
                                                {2, 33, 65},
                                                {101, 83, 67},
                                                {160, 100, 131}})
    for (const double missing : {0.0, 0.3})
      for (const std::string text : {"(OutlierShare 0.2)", "(OutlierShare 1)"}) {
        SCOPED_TRACE(::testing::Message() << size[0] << " x " << size[1] << " x " << size[2] << ", missing "
                                          << missing << ", " << text);
        const RobustCorrelationCase images(size, missing);
        const LatticeResult expected = robustResult(text, images);

        const LatticeResultOnGpu found = evaluateOnGpu(robustMetric(text), images),
                                 again = evaluateOnGpu(robustMetric(text), images);

        EXPECT_EQ(found.valid, static_cast<unsigned long long>(std::ranges::count_if(
                                   images.moving, [](float m) { return !std::isnan(m); })));
        EXPECT_NEAR(found.value, expected.value, 1e-9);
        EXPECT_LE(largestDifference(found.slopes, expected.slopes), 1e-6 * largestMagnitude(expected.slopes));
        EXPECT_EQ(found.value, again.value);
        EXPECT_EQ(found.slopes, again.slopes);
      }
}

}
}
