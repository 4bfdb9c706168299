#include "Core/Image/Scores/LabelScores.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

/// A ball of voxels, which reaches the border of the image if it is large.
Image<3> ball(const Vec<3>& center, double radiusVoxels, float label)
{
  Image<3> image;
  image.geometry.size = {24, 22, 12};
  image.geometry.spacingMm = {0.8, 1.1, 2.5};
  for (std::size_t i = 0; i < image.geometry.voxelCount(); ++i) {
    const Vec<3> voxel{static_cast<double>(i % 24), static_cast<double>(i / 24 % 22),
                       static_cast<double>(i / 24 / 22)};
    double squared = 0;
    for (int d = 0; d < 3; ++d)
      squared += (voxel[d] - center[d]) * (voxel[d] - center[d]);
    image.voxels.push_back(squared <= radiusVoxels * radiusVoxels ? label : 0);
  }
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

}
}
