// needs: Tools, Model
#include "Testing/Support/ErrorText.h"
#include "Tools/Bench/Model/GpuAttributes.h"
#include "Tools/Bench/Model/GpuRatesFile.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

GpuAttributes h100()
{
  return {"NVIDIA H100 80GB HBM3", 90, 132, 1.98, 5.243e7, 32, 64, 65536, 233472, 1024, 3.352e12};
}

struct Found {
  GpuRates rates;
  std::vector<std::string> assumed;

  explicit Found(const GpuAttributes& gpu) { rates = ratesByAttributes(gpu, assumed); }
};

/// All rates but one that may be 0 can be divided by.
void expectUsable(const GpuRates& rates)
{
  for (const GpuRateName& rate : gpuRateNames()) {
    EXPECT_TRUE(std::isfinite(rates.*rate.value)) << rate.name;
    if (rate.value != &GpuRates::reservedSharedBytes) {
      EXPECT_GT(rates.*rate.value, 0) << rate.name;
    }
  }
}

TEST(RatesByAttributes, AnH100HasTheRatesThatWereMeasured)
{
  const Found found(h100());
  EXPECT_TRUE(found.assumed.empty());
  EXPECT_EQ(found.rates.gpu, "NVIDIA H100 80GB HBM3, 132 multiprocessors");
  for (const GpuRateName& rate : gpuRateNames())
    EXPECT_NEAR(found.rates.*rate.value / usualGpuRates().*rate.value, 1, 1e-3) << rate.name;
}

TEST(RatesByAttributes, ASmallGpuIsScaled)
{
  // a GeForce RTX 3060: 28 multiprocessors, 1.78 GHz, 360 GB/s
  const Found found({"NVIDIA GeForce RTX 3060", 86, 28, 1.78, 2359296, 16, 48, 65536, 102400, 1024, 360e9});
  EXPECT_TRUE(found.assumed.empty());
  expectUsable(found.rates);
  const GpuRates& usual = usualGpuRates();
  EXPECT_NEAR(found.rates.dramCopyBytes, usual.dramCopyBytes * 360 / 3352, 1e6);
  EXPECT_NEAR(found.rates.l2Bytes, usual.l2Bytes * 28 / 132 * 1.78 / 1.98, 1e6);
  EXPECT_NEAR(found.rates.blocksPerSecond, usual.blocksPerSecond * 1.78 / 1.98, 1e3);
  EXPECT_EQ(found.rates.fp32, usual.fp32);
  EXPECT_NEAR(found.rates.fp64, usual.fp64 / 32, 1e-9);
  EXPECT_EQ(found.rates.latencyFp64, 16);
  EXPECT_EQ(found.rates.maxWarps, 48);
}

TEST(RatesByAttributes, WhatTheDriverDoesNotTellIsToldAsAssumed)
{
  GpuAttributes odd = h100();
  odd.clockGHz = 0;
  odd.memoryBytesPerSecond = 0;
  odd.multiprocessors = 66;
  const Found found(odd);
  expectUsable(found.rates);
  EXPECT_EQ(found.rates.clockGHz, usualGpuRates().clockGHz);
  EXPECT_NEAR(found.rates.dramReadBytes, usualGpuRates().dramReadBytes / 2, 1e6);
  ASSERT_EQ(found.assumed.size(), 2u);
  EXPECT_EQ(found.assumed[0], "the driver tells no clock, that of an H100 is taken");
  EXPECT_PRED2(testing::contains, found.assumed[1], "rate of the memory");
}

TEST(RatesByAttributes, AnUnknownCapabilityHasTheUnitsOfAnH100)
{
  GpuAttributes next = h100();
  next.capability = 137;
  const Found found(next);
  EXPECT_EQ(found.rates.fp64, usualGpuRates().fp64);
  ASSERT_EQ(found.assumed.size(), 1u);
  EXPECT_EQ(found.assumed[0].substr(0, 40), "compute capability 13.7 is not known, ra");
}

TEST(RatesByAttributes, APartOfAGpuHasItsShareOfTheMemory)
{
  GpuAttributes part = h100();
  part.name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
  part.multiprocessors = 16;
  const Found found(part);
  expectUsable(found.rates);
  EXPECT_EQ(found.rates.gpu, "NVIDIA H100 80GB HBM3 MIG 1g.10gb, 16 multiprocessors");
  EXPECT_NEAR(found.rates.dramCopyBytes, usualGpuRates().dramCopyBytes * 16 / 132, 1e6);
  EXPECT_EQ(found.assumed.size(), 1u);
}

TEST(RatesByAttributes, ADriverThatTellsNothingGivesAnH100)
{
  GpuAttributes nothing{
      .name = "GPU", .clockGHz = std::numeric_limits<double>::quiet_NaN(), .memoryBytesPerSecond = -1};
  const Found found(nothing);
  expectUsable(found.rates);
  EXPECT_EQ(found.rates.multiprocessors, 132);
  EXPECT_EQ(found.assumed.size(), 9u);
}

TEST(RatesByAttributes, AGpuThatOtherWorkRunsOnIsSeen)
{
  EXPECT_EQ(whySlowerThanTold(usualGpuRates(), h100()), "");
  GpuRates busy = usualGpuRates();
  busy.dramReadBytes *= 0.5;
  EXPECT_EQ(whySlowerThanTold(busy, h100()), "reading of memory reached 50 % of what its driver lets expect");
  busy.clockGHz *= 0.6;
  EXPECT_EQ(whySlowerThanTold(busy, h100()), "the clock reached 60 % of what its driver lets expect, reading "
                                             "of memory reached 50 % of what its driver lets expect");
  GpuAttributes odd = h100(); // tells nothing to compare with
  odd.clockGHz = odd.memoryBytesPerSecond = 0;
  EXPECT_EQ(whySlowerThanTold(busy, odd), "");
  GpuAttributes part = h100();
  part.name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
  busy.clockGHz = usualGpuRates().clockGHz;
  EXPECT_EQ(whySlowerThanTold(busy, part), "");
}

}
}
