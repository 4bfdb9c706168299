#include "Core/Image/Scores/LabelScores.h"

#include "Core/Compute/Math/VectorLength.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {
namespace {

/// A ball of voxels, which reaches the border of the image if it is large.
Image<3> ball(const Vec<3>& center, double radiusVoxels, float label)
{
  Image<3> image =
      testing::drawImage<3>({.size = {24, 22, 12}, .spacingMm = {1, 1, 1}}, [&](const Vec<3>& voxel) {
        return distanceBetween<3>(voxel, center) <= radiusVoxels ? label : 0;
      });
  image.geometry.spacingMm = {0.8, 1.1, 2.5};
  return image;
}

TEST(LabelScoresTest, HaveTheDistancesOfSciPy)
{
  // From scipy.ndimage.binary_erosion and distance_transform_edt with the spacing as sampling.
  const auto scores = labelScores<3>(Context{}, ball({10, 9, 6}, 6, 7), ball({13, 11, 6}, 7, 7));
  ASSERT_EQ(scores.size(), 1U);
  const LabelScore& score = scores.at(7);
  EXPECT_EQ(score.voxelsA, 924U);
  EXPECT_EQ(score.voxelsB, 1372U);
  EXPECT_NEAR(score.dice, 0.5827526132, 1e-9);
  EXPECT_NEAR(*score.hausdorff95Mm, 4.0804411526, 1e-9);
  EXPECT_NEAR(*score.meanSurfaceDistanceMm, 1.9309947459, 1e-9);
}

TEST(LabelScoresTest, EqualLabelsAndLabelsOfOneImage)
{
  const Image<3> one = ball({10, 9, 6}, 4, 2), other = ball({10, 9, 6}, 4, 3);
  const LabelScore same = labelScores<3>(Context{}, one, one).at(2);
  EXPECT_EQ(same.dice, 1);
  EXPECT_EQ(*same.hausdorff95Mm, 0);
  EXPECT_EQ(*same.meanSurfaceDistanceMm, 0);
  const auto apart = labelScores<3>(Context{}, one, other);
  EXPECT_EQ(apart.size(), 2U);
  EXPECT_EQ(apart.at(2).dice, 0);
  EXPECT_FALSE(apart.at(2).hausdorff95Mm || apart.at(3).meanSurfaceDistanceMm);
}

/// A disc of so many slices from the first one on, all of whose voxels are on its surface.
Image<3> disc(double centerX, double radiusVoxels, std::size_t slices)
{
  Image<3> image = ball({0, 0, 0}, -1, 0);
  for (std::size_t i = 0; i < slices * 24 * 22; ++i) {
    const double x = static_cast<double>(i % 24) - centerX, y = static_cast<double>(i / 24 % 22) - 10;
    image.voxels[i] = x * x + y * y <= radiusVoxels * radiusVoxels ? 1 : 0;
  }
  return image;
}

/// The sum of the distances in mm of all labelled voxels of `from` to the nearest of `to`, and their number.
std::pair<double, double> sumOfDistancesMm(const Image<3>& from, const Image<3>& to)
{
  const auto pointMm = [&](std::size_t i) {
    return Vec<3>{0.8 * static_cast<double>(i % 24), 1.1 * static_cast<double>(i / 24 % 22),
                  2.5 * static_cast<double>(i / 24 / 22)};
  };
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < from.voxels.size(); ++i) {
    if (from.voxels[i] == 0)
      continue;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < to.voxels.size(); ++j)
      if (to.voxels[j] != 0) {
        const Vec<3> p = pointMm(i), q = pointMm(j);
        least = std::min(least, std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]));
      }
    sum += least;
    ++count;
  }
  return {sum, count};
}

TEST(LabelScoresTest, ThinLabelsHaveDistancesAsOthers)
{
  for (const std::size_t slices : {1, 2})
    for (const double radiusVoxels : {0.0, 4.0}) {
      const Image<3> one = disc(10, radiusVoxels, slices), shifted = disc(11, radiusVoxels, slices);
      const LabelScore same = labelScores<3>(Context{}, one, one).at(1);
      EXPECT_EQ(*same.hausdorff95Mm, 0);
      EXPECT_EQ(*same.meanSurfaceDistanceMm, 0);
      const LabelScore score = labelScores<3>(Context{}, one, shifted).at(1);
      const auto [toShifted, count] = sumOfDistancesMm(one, shifted);
      const auto [toOne, countShifted] = sumOfDistancesMm(shifted, one);
      EXPECT_NEAR(*score.hausdorff95Mm, 0.8, 1e-9);
      EXPECT_NEAR(*score.meanSurfaceDistanceMm, (toShifted + toOne) / (count + countShifted), 1e-9);
    }
}

}
}
