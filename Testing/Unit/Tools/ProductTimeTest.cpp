// needs: Tools
#include "Tools/Common/ProductTime.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Calibration roundRates()
{
  Calibration calibration;
  calibration.threads = 4;
  calibration.products = {{40, 10}, {8, 2}, {16, 4}, {400, 100}, {4, 1}, {8, 2}, 0.5, 20};
  return calibration;
}

const ProductWork work{.rows = 1e5,
                       .products = 4e6,
                       .rowProducts = 3e6,
                       .tilePairs = 1e4,
                       .entries = 1.5e6,
                       .factorBytes = 2e6,
                       .productBytes = 1e6};

TEST(ProductTimeTest, CpuSecondsAreItemsTimesRates)
{
  EXPECT_NEAR(cpuSeconds(roundRates(), work, 1), 1e-9 * (1e5 * 40 + 3e6 * 8 + 1.5e6 * 16 + 1e4 * 400), 1e-12);
  EXPECT_NEAR(cpuSeconds(roundRates(), work, 4), cpuSeconds(roundRates(), work, 1) / 4, 1e-12);
}

TEST(ProductTimeTest, CudaSecondsHaveTheCopies)
{
  const double copies = 2e6 * 1 + 1e6 * 2, kernels = 3e6 * 0.5 + 1e4 * 20,
               fixed = cudaSeconds(roundRates(), {}, 4);
  EXPECT_GT(fixed, 0);
  EXPECT_LT(fixed, 0.01);
  EXPECT_NEAR(cudaSeconds(roundRates(), work, 4), fixed + 1e-9 * (copies + kernels), 1e-12);
  EXPECT_NEAR(cudaSeconds(roundRates(), work, 1), fixed + 1e-9 * (4 * copies + kernels), 1e-12);
}

TEST(ProductTimeTest, SeveralDevicesShareKernelsWhollyAndCopiesInPart)
{
  const double one = cudaSeconds(roundRates(), work, 4), two = cudaSeconds(roundRates(), work, 4, 2),
               four = cudaSeconds(roundRates(), work, 4, 4), fixed = cudaSeconds(roundRates(), {}, 4);
  EXPECT_GT(one, two);
  EXPECT_GT(two, four);
  EXPECT_GT(two - fixed, (one - fixed) / 2);
}

}
}
