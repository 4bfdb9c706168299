// needs: GPU
#include "Components/Metrics/LocalNormalizedCorrelation.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/NaiveLocalCorrelation.h"
#include "Testing/Support/OnGpu/LatticeMetricOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

LatticeResultOnGpu resultOnGpu(const std::string& window, const LatticeImages& images, bool withSlopes = true)
{
  return evaluateOnGpu(localMetric(window, images), images, withSlopes);
}

/// Intensities and products are rounded to 2.4e-7 of the range. In windows of two or three positions parts of
/// slopes that are some hundred times as large cancel each other.
void expectTheNaiveResult(const std::string& window, const LocalCorrelationCase& images, double noise = 0.001)
{
  const LatticeResult found = resultOnGpu(window, images), naive = naiveResult(window, images, noise);
  EXPECT_NEAR(found.value, naive.value, 1e-4 * std::abs(naive.value)) << describe(images) << window;
  expectSameSlopes(found.slopes, naive.slopes, 2e-4, describe(images) + window);
}

using LocalNormalizedCorrelationOnCudaTest = testing::GpuTest;

TEST_F(LocalNormalizedCorrelationOnCudaTest, AgreesWithANaiveLoopAtAwkwardSizes)
{
  for (const LocalCorrelationCase& images : awkwardCases()) {
    for (const std::string window :
         {"(LocalWindowRadius 1)", "(LocalWindowRadius 3)", "(LocalWindowSigma 0.5)", "(LocalWindowSigma 2)"})
      expectTheNaiveResult(window, images);
    expectTheNaiveResult(std::string("(LocalWindowRadius 2)\n") + ownNoise, images);
    // Sums over wide windows are rounded more coarsely.
    expectTheNaiveResult("(LocalWindowRadius 16)\n(LocalIntensityNoise 0.02)", images, 0.02);
  }
}

TEST_F(LocalNormalizedCorrelationOnCudaTest, AgreesWithANaiveLoopAcrossTiles)
{
  for (const double missing : {0.0, 0.1})
    for (const std::string window :
         {"(LocalWindowRadius 2)", "(LocalWindowRadius 1 3 2)", "(LocalWindowSigma 1)"})
      expectTheNaiveResult(window, LocalCorrelationCase({131, 35, 70}, missing));
}

TEST_F(LocalNormalizedCorrelationOnCudaTest, AgreesWithANaiveLoopInGaussianWindowsOfEachWidth)
{
  // Radii of 2, 3, 5, 6, 8, 9, 11, 12, 14 and 16: each kernel with the widest window that it takes, and with
  // a narrower one.
  for (const std::string sigma : {"0.6", "1", "1.5", "2", "2.5", "3", "3.5", "4", "4.6", "5.3"}) {
    const std::string window = "(LocalWindowSigma " + sigma + ")\n(LocalIntensityNoise 0.01)";
    expectTheNaiveResult(window, LocalCorrelationCase({35, 9, 19}, 0.2), 0.01);
    expectTheNaiveResult(window, LocalCorrelationCase({70, 43, 1}, 0.2), 0.01);
  }
}

TEST_F(LocalNormalizedCorrelationOnCudaTest, GaussianWindowsAgreeWithANaiveLoopAcrossBlocks)
{
  // Blocks go through 16, 32 or 64 slices: these lattices have 4 x 4 x 5, 1 x 89 x 2 and 1 x 89 x 2 blocks.
  for (const std::array<std::size_t, 3> size :
       {std::array<std::size_t, 3>{102, 30, 70}, {2, 705, 61}, {2, 705, 65}})
    expectTheNaiveResult("(LocalWindowSigma 1)", LocalCorrelationCase(size, 0.1));
}

TEST_F(LocalNormalizedCorrelationOnCudaTest, RepeatsItsBits)
{
  const LocalCorrelationCase images({131, 35, 70}, 0.1);
  for (const std::string window : {"(LocalWindowRadius 2)", "(LocalWindowSigma 1)"}) {
    const LatticeResult first = resultOnGpu(window, images), again = resultOnGpu(window, images);
    EXPECT_EQ(again.value, first.value) << window;
    EXPECT_EQ(again.slopes, first.slopes) << window;
    EXPECT_EQ(resultOnGpu(window, images, false).value, first.value) << window << ": value alone";
  }
}

}
}
