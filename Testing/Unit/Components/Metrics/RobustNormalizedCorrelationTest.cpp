#include "Components/Metrics/RobustNormalizedCorrelation.h"

#include "Testing/Support/Naive/NaiveRobustCorrelation.h"

#include <algorithm>

namespace tessera {
namespace {

using namespace testing;

TEST(RobustNormalizedCorrelationTest, ALinearRelationOfEitherSignGivesZero)
{
  RobustCorrelationCase images({11, 9, 7});
  for (const float factor : {0.5f, -0.5f}) {
    for (std::size_t i = 0; i < images.fixed.size(); ++i)
      images.moving[i] = 50 + factor * images.fixed[i];
    EXPECT_NEAR(robustResult("", images).value, 0, 1e-9);
  }
}

TEST(RobustNormalizedCorrelationTest, WithoutABoundItIsOneMinusTheSquaredCorrelation)
{
  const RobustCorrelationCase images({11, 9, 7}, 0.1);
  double n = 0, f = 0, m = 0, ff = 0, mm = 0, fm = 0;
  for (std::size_t i = 0; i < images.fixed.size(); ++i)
    if (!std::isnan(images.moving[i])) {
      const double a = images.fixed[i], b = images.moving[i];
      n += 1, f += a, m += b, ff += a * a, mm += b * b, fm += a * b;
    }
  const double covariance = fm - f * m / n;
  EXPECT_NEAR(robustResult("(OutlierShare 1e6)", images).value,
              1 - covariance * covariance / ((ff - f * f / n) * (mm - m * m / n)), 1e-9);
}

TEST(RobustNormalizedCorrelationTest, FindsTheLineBesideOutliers)
{
  for (const double missing : {0.0, 0.3})
    for (const double share : {0.2, 0.5, 1.0}) {
      const RobustCorrelationCase images({23, 9, 7}, missing);
      EXPECT_NEAR(robustResult("(OutlierShare " + std::to_string(share) + ")", images).value,
                  naiveRobustValue(share, images, 2, -80), 1e-6)
          << share << ", missing " << missing;
    }
}

TEST(RobustNormalizedCorrelationTest, OutliersChangeItByLittle)
{
  RobustCorrelationCase images({23, 9, 7});
  const double before = robustResult("", images).value;
  for (std::size_t i = 4; i < images.fixed.size(); i += 9)
    images.moving[i] = 30;
  EXPECT_NEAR(robustResult("", images).value, before, 0.01);
}

/// A lattice above the number of pairs of a part, too, whose line a part of the pairs leads to.
TEST(RobustNormalizedCorrelationTest, SlopesMatchFiniteDifferences)
{
  for (const std::array<std::size_t, 3> size :
       {std::array<std::size_t, 3>{7, 6, 5}, {90, 70, 1}, {101, 83, 67}})
    for (const std::string share : {"(OutlierShare 0.2)", "(OutlierShare 1)"}) {
      RobustCorrelationCase images(size, 0.2);
      const std::size_t count = images.fixed.size(), step = 1 + count / (count > 100000 ? 7 : 50);
      expectSlopesAreDifferences(images, step, 1e-3, share,
                                 [&](bool withSlopes) { return robustResult(share, images, 1, withSlopes); });
    }
}

TEST(RobustNormalizedCorrelationTest, ImagesWithoutContrastHaveNoSlope)
{
  RobustCorrelationCase images({9, 8, 7});
  std::ranges::fill(images.moving, 40.0f);
  const LatticeResult flat = robustResult("(OutlierShare 1e6)", images);
  EXPECT_NEAR(flat.value, 1, 1e-9);
  for (const float slope : flat.slopes)
    EXPECT_NEAR(slope, 0, 1e-12);
  images = RobustCorrelationCase({9, 8, 7});
  std::ranges::fill(images.fixed, 40.0f);
  EXPECT_EQ(robustResult("", images).value, 1);
  std::ranges::fill(images.moving, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(robustResult("", images).value, 1);
}

TEST(RobustNormalizedCorrelationTest, RepeatsItsBitsForAnyThreadCountAndAValueAlone)
{
  const RobustCorrelationCase images({101, 83, 67}, 0.1);
  const LatticeResult once = robustResult("", images);
  for (const int threads : {2, 5}) {
    const LatticeResult again = robustResult("", images, threads);
    EXPECT_EQ(again.value, once.value) << threads;
    EXPECT_EQ(again.slopes, once.slopes) << threads;
  }
  EXPECT_EQ(robustResult("", images, 1, false).value, once.value);
}

}
}
