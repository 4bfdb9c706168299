#include "Core/Image/Scores/ImageScores.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

/// Smooth waves and a pattern like noise; `kind` makes another image.
template <int D>
Image<D> pattern(const Size<D>& size, int kind)
{
  Image<D> image;
  image.geometry.size = size;
  image.geometry.spacingMm.fill(1);
  for (std::size_t i = 0; i < image.geometry.voxelCount(); ++i) {
    const auto x = static_cast<int>(i % size[0]), y = static_cast<int>(i / size[0] % size[1]),
               z = static_cast<int>(i / size[0] / size[1]);
    const int noise = (x * 7 + y * 13 + z * 29 + kind * x * y) % 23;
    image.voxels.push_back(
        static_cast<float>(100 * std::sin(0.3 * x + 0.1 * kind) + 60 * std::cos(0.2 * y - 0.15 * z) + noise));
  }
  return image;
}

template <int D>
std::vector<std::uint8_t> twoOfThree(const Size<D>& size)
{
  std::vector<std::uint8_t> use;
  Image<D> grid;
  grid.geometry.size = size;
  for (std::size_t i = 0; i < grid.geometry.voxelCount(); ++i)
    use.push_back((i % size[0] + i / size[0] % size[1] + i / size[0] / size[1]) % 3 != 0);
  return use;
}

struct Expected {
  double similarity, mae, deviation, rmse, zMae, zDeviation, zSse, ncc, nmi, maskedSimilarity, maskedMae;
};

/// `expected` is from scikit-image 0.26 (structural_similarity with gaussian_weights, sigma 1.5, without
/// use_sample_covariance, data_range 300; normalized_mutual_information with 64 bins) and NumPy.
template <int D>
void expectScores(const Size<D>& size, const Expected& expected)
{
  const Image<D> a = pattern<D>(size, 0), b = pattern<D>(size, 1);
  const ImageScores scores = imageScores<D>(Context{}, a, b, {}, 300);
  EXPECT_EQ(scores.voxels, a.voxels.size());
  EXPECT_NEAR(*scores.structuralSimilarity, expected.similarity, 1e-9);
  EXPECT_NEAR(scores.meanAbsoluteError, expected.mae, 1e-8);
  EXPECT_NEAR(scores.absoluteErrorDeviation, expected.deviation, 1e-8);
  EXPECT_NEAR(scores.rootMeanSquareError, expected.rmse, 1e-8);
  EXPECT_NEAR(scores.standardized->meanAbsoluteError, expected.zMae, 1e-7);
  EXPECT_NEAR(scores.standardized->absoluteErrorDeviation, expected.zDeviation, 1e-7);
  EXPECT_NEAR(scores.standardized->sumOfSquaredErrors, expected.zSse, 1e-4);
  EXPECT_NEAR(*scores.correlation, expected.ncc, 1e-9);
  EXPECT_NEAR(*scores.mutualInformation, expected.nmi, 1e-9);
  const ImageScores masked = imageScores<D>(Context{}, a, b, twoOfThree<D>(size), 300);
  EXPECT_NEAR(*masked.structuralSimilarity, expected.maskedSimilarity, 1e-9);
  EXPECT_NEAR(masked.meanAbsoluteError, expected.maskedMae, 1e-8);
}

TEST(ImageScoresTest, AreThoseOfScikitImageIn2D)
{
  expectScores<2>({20, 17}, {0.8473004815, 9.8936692896, 6.8300259290, 12.0222271731, 0.11625764, 0.08005885,
                             6.774588, 0.9900373709, 1.4848608327, 0.8480762507, 10.1938029246});
}

TEST(ImageScoresTest, AreThoseOfScikitImageIn3D)
{
  expectScores<3>({19, 16, 14},
                  {0.8408044812, 9.3762389387, 6.4198416161, 11.3634599930, 0.11617552, 0.07959738, 84.407090,
                   0.9900837535, 1.3165444031, 0.8387325066, 9.3412368928});
}

TEST(ImageScoresTest, EqualImagesAndConstantOnes)
{
  const Image<2> a = pattern<2>({20, 17}, 0);
  const ImageScores same = imageScores<2>(Context{}, a, a, {}, 300);
  EXPECT_DOUBLE_EQ(*same.structuralSimilarity, 1);
  EXPECT_DOUBLE_EQ(*same.correlation, 1);
  EXPECT_DOUBLE_EQ(*same.mutualInformation, 2);
  Image<2> flat = a;
  std::fill(flat.voxels.begin(), flat.voxels.end(), 5.0F);
  const ImageScores constant = imageScores<2>(Context{}, a, flat, {}, 300);
  EXPECT_FALSE(constant.correlation || constant.mutualInformation || constant.standardized);
  EXPECT_FALSE(structuralSimilarity<2>(Context{}, pattern<2>({20, 10}, 0), pattern<2>({20, 10}, 1), {}, 300));
}

TEST(ImageScoresTest, HaveTheSameBitsForAnyNumberOfThreads)
{
  const Size<3> size{96, 90, 75}; // three chunks of voxels
  const Image<3> a = pattern<3>(size, 0), b = pattern<3>(size, 1);
  const ImageScores one = imageScores<3>(Context{Device{}, 1}, a, b, {}, 300),
                    four = imageScores<3>(Context{Device{}, 4}, a, b, {}, 300);
  EXPECT_EQ(one.meanAbsoluteError, four.meanAbsoluteError);
  EXPECT_EQ(one.standardized->sumOfSquaredErrors, four.standardized->sumOfSquaredErrors);
  EXPECT_EQ(one.correlation, four.correlation);
  EXPECT_EQ(one.mutualInformation, four.mutualInformation);
  EXPECT_EQ(one.structuralSimilarity, four.structuralSimilarity);
}

}
}
