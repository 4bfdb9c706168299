#include "Core/Compute/Math/ErrorStatistics.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ErrorStatisticsTest, SummarisesDistancesAndKeepsTheSignsOfAxes)
{
  // Lengths 5 (3, 4), 10 and 1, in another order than that of size.
  const ErrorStatistics s = errorStatistics<3>({{3, 0, -4}, {-6, 8, 0}, {0, 1, 0}});
  EXPECT_EQ(s.count, 3U);
  EXPECT_DOUBLE_EQ(s.meanMm, 16.0 / 3);
  EXPECT_DOUBLE_EQ(s.deviationMm, std::sqrt(61.0 / 3)); // squares 1/9, 196/9 and 169/9 over 2
  EXPECT_DOUBLE_EQ(s.medianMm, 5);
  EXPECT_DOUBLE_EQ(s.percentile95Mm, 9.5); // place 1.9 of 0 to 2, between 5 and 10
  EXPECT_DOUBLE_EQ(s.largestMm, 10);
  EXPECT_DOUBLE_EQ(s.shareAbove2Mm, 2.0 / 3);
  EXPECT_DOUBLE_EQ(s.shareAbove5Mm, 1.0 / 3); // 5 is not above 5
  EXPECT_DOUBLE_EQ(s.meanPerAxisMm[0], -1);
  EXPECT_DOUBLE_EQ(s.meanPerAxisMm[1], 3);
  EXPECT_DOUBLE_EQ(s.meanPerAxisMm[2], -4.0 / 3);
}

TEST(ErrorStatisticsTest, OnePointHasNoDeviation)
{
  const ErrorStatistics s = errorStatistics<2>({{0, 2}});
  EXPECT_EQ(s.deviationMm, 0);
  EXPECT_EQ(s.medianMm, 2);
  EXPECT_EQ(s.percentile95Mm, 2);
  EXPECT_EQ(s.shareAbove2Mm, 0);
}

}
}
