#include "Components/ImagePyramids/ShrinkingImagePyramid.h"

#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::testing;

TEST(ShrinkingImagePyramidTest, TakesVoxelsOfTheFullImage)
{
  const auto image = std::make_shared<Image<2>>(noiseImage<2>(centredGeometry<2>({12, 9}, {1, 2}), 4));
  ShrinkingImagePyramid<2> pyramid(
      parametersOf("(ImagePyramidSchedule 4 3 1 1)", 2, 2, "MovingImagePyramid0"), ImageSide::moving);

  const ImagePointer<2> coarse = pyramid.imageOfLevel(host, image, 0);

  ASSERT_EQ(coarse->geometry.size, (Size<2>{3, 3}));
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 3; ++x)
      EXPECT_EQ(coarse->voxels[x + 3 * y], image->voxels[2 + 4 * x + 12 * (1 + 3 * y)]);
  EXPECT_EQ(coarse->geometry.spacingMm, (Vec<2>{4, 6}));
  EXPECT_EQ(pyramid.scheduleOfLevel(0), (Vec<2>{4, 3}));
}

TEST(ShrinkingImagePyramidTest, ReturnsTheImageItselfAtFactorOne)
{
  const auto image = std::make_shared<Image<2>>(noiseImage<2>(centredGeometry<2>({12, 9}, {1, 2}), 4));
  ShrinkingImagePyramid<2> pyramid(parametersOf("(NumberOfResolutions 2)", 2, 2, "FixedImagePyramid0"),
                                   ImageSide::fixed);

  EXPECT_EQ(pyramid.imageOfLevel(host, image, 1), image);
}
