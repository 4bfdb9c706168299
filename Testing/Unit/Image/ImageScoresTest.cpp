// on: CPU, GPU
#include "Core/Image/Scores/ImageScores.h"

#include "Testing/Support/OnGpu/DeviceUnderTest.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using namespace testing;

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

template <int D>
ImageScores scores(const Context& context, const Image<D>& a, const Image<D>& b, bool masked)
{
  return imageScores<D>(context, a, b, masked ? twoOfThree<D>(a.geometry.size) : std::vector<std::uint8_t>{},
                        300);
}

void expectNear(const ImageScores& found, const ImageScores& expected)
{
  EXPECT_EQ(found.voxels, expected.voxels);
  ASSERT_EQ(found.structuralSimilarity.has_value(), expected.structuralSimilarity.has_value());
  EXPECT_NEAR(found.structuralSimilarity.value_or(0), expected.structuralSimilarity.value_or(0), 1e-9);
  EXPECT_NEAR(found.meanAbsoluteError, expected.meanAbsoluteError, 1e-8);
  EXPECT_NEAR(found.absoluteErrorDeviation, expected.absoluteErrorDeviation, 1e-8);
  EXPECT_NEAR(found.rootMeanSquareError, expected.rootMeanSquareError, 1e-8);
  ASSERT_TRUE(found.standardized && found.correlation && found.mutualInformation);
  EXPECT_NEAR(found.standardized->meanAbsoluteError, expected.standardized->meanAbsoluteError, 1e-8);
  EXPECT_NEAR(found.standardized->absoluteErrorDeviation, expected.standardized->absoluteErrorDeviation,
              1e-8);
  EXPECT_NEAR(found.standardized->sumOfSquaredErrors, expected.standardized->sumOfSquaredErrors,
              1e-7 * expected.standardized->sumOfSquaredErrors);
  EXPECT_NEAR(*found.correlation, *expected.correlation, 1e-9);
  EXPECT_NEAR(*found.mutualInformation, *expected.mutualInformation, 1e-9);
}

/// `expected` is from scikit-image 0.26 (structural_similarity with gaussian_weights, sigma 1.5, without
/// use_sample_covariance, data_range 300; normalized_mutual_information with 64 bins) and NumPy, also those
/// with a mask.
template <int D>
void expectScores(const Size<D>& size, const ImageScores& expected, double maskedSimilarity,
                  double maskedError)
{
  const Context context = contextUnderTest();
  const Image<D> a = pattern<D>(size, 0), b = pattern<D>(size, 1);
  expectNear(scores<D>(context, a, b, false), expected);
  const ImageScores masked = scores<D>(context, a, b, true);
  EXPECT_NEAR(*masked.structuralSimilarity, maskedSimilarity, 1e-9);
  EXPECT_NEAR(masked.meanAbsoluteError, maskedError, 1e-8);
}

using ImageScoresTest = DeviceTest;

TEST_F(ImageScoresTest, AreThoseOfScikitImageIn2D)
{
  expectScores<2>({20, 17},
                  {340,
                   9.8936692896,
                   6.8300259290,
                   12.0222271731,
                   {{0.11625764, 0.08005885, 6.774588}},
                   0.9900373709,
                   1.4848608327,
                   0.8473004815},
                  0.8480762507, 10.1938029246);
}

TEST_F(ImageScoresTest, AreThoseOfScikitImageIn3D)
{
  expectScores<3>({19, 16, 14},
                  {4256,
                   9.3762389387,
                   6.4198416161,
                   11.3634599930,
                   {{0.11617552, 0.07959738, 84.407090}},
                   0.9900837535,
                   1.3165444031,
                   0.8408044812},
                  0.8387325066, 9.3412368928);
}

TEST_F(ImageScoresTest, EqualImagesAndConstantOnes)
{
  const Image<2> a = pattern<2>({20, 17}, 0);
  const ImageScores same = scores<2>(context, a, a, false);
  EXPECT_NEAR(*same.structuralSimilarity, 1, 1e-15);
  EXPECT_NEAR(*same.correlation, 1, 1e-15);
  EXPECT_NEAR(*same.mutualInformation, 2, 1e-15);
  Image<2> flat = a;
  std::ranges::fill(flat.voxels, 5.0F);
  const ImageScores constant = scores<2>(context, a, flat, false);
  EXPECT_FALSE(constant.correlation || constant.mutualInformation || constant.standardized);
  EXPECT_GT(constant.meanAbsoluteError, 0);
  EXPECT_FALSE(
      scores<2>(context, pattern<2>({20, 10}, 0), pattern<2>({20, 10}, 1), false).structuralSimilarity);
}

template <int D>
void expectTheScoresOfOneThread(const Size<D>& size)
{
  const Context context = contextUnderTest();
  const Image<D> a = pattern<D>(size, 0), b = pattern<D>(size, 1);
  for (const bool masked : {false, true}) {
    const ImageScores found = scores<D>(context, a, b, masked), again = scores<D>(context, a, b, masked);
    expectNear(found, scores<D>(host, a, b, masked));
    EXPECT_EQ(found.structuralSimilarity, again.structuralSimilarity);
  }
}

TEST_F(ImageScoresTest, AreThoseOfOneThreadAtAwkwardSizes)
{
  expectTheScoresOfOneThread<2>({71, 45});
  expectTheScoresOfOneThread<2>({11, 11});
  expectTheScoresOfOneThread<3>({75, 29, 53}); // several blocks along each axis, none of them whole
  expectTheScoresOfOneThread<3>({11, 11, 11});
}

TEST_F(ImageScoresTest, HaveTheSameBitsForAnyNumberOfThreads)
{
  const Size<3> size{96, 90, 75}; // three chunks of voxels
  const Image<3> a = pattern<3>(size, 0), b = pattern<3>(size, 1);
  const ImageScores one = scores<3>(contextUnderTest(1), a, b, false),
                    four = scores<3>(contextUnderTest(4), a, b, false);
  EXPECT_EQ(one.meanAbsoluteError, four.meanAbsoluteError);
  EXPECT_EQ(one.standardized->sumOfSquaredErrors, four.standardized->sumOfSquaredErrors);
  EXPECT_EQ(one.correlation, four.correlation);
  EXPECT_EQ(one.mutualInformation, four.mutualInformation);
  EXPECT_EQ(one.structuralSimilarity, four.structuralSimilarity);
}

}
}
