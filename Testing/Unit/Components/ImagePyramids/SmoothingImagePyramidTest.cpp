#include "Components/ImagePyramids/SmoothingImagePyramid.h"

#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::testing;

namespace {

SmoothingImagePyramid<3> pyramidOf(const std::string& text, std::size_t levels)
{
  return SmoothingImagePyramid<3>(parametersOf(text, 3, levels, "FixedImagePyramid0"), ImageSide::fixed);
}

const ImagePointer<3> image = std::make_shared<Image<3>>(noiseImage<3>(obliqueGeometry<3>({17, 19, 23}), 4));

}

TEST(SmoothingImagePyramidTest, SmoothsByHalfTheFactorInVoxels)
{
  SmoothingImagePyramid<3> pyramid = pyramidOf("(ImagePyramidSchedule 8 4 2 1 1 1)", 2);

  EXPECT_EQ(pyramid.imageOfLevel(host, image, 0)->voxels,
            smoothRecursively<3>(host, *image, {4, 2, 1}).voxels);
  EXPECT_EQ(pyramid.imageOfLevel(host, image, 0)->geometry, image->geometry);
  EXPECT_EQ(pyramid.scheduleOfLevel(0), (Vec<3>{8, 4, 2}));
}

TEST(SmoothingImagePyramidTest, SmoothsByHalfAVoxelAtFactorOne)
{
  SmoothingImagePyramid<3> pyramid = pyramidOf("(NumberOfResolutions 1)", 1);

  EXPECT_EQ(pyramid.imageOfLevel(host, image, 0)->voxels,
            smoothRecursively<3>(host, *image, {0.5, 0.5, 0.5}).voxels);
}

TEST(SmoothingImagePyramidTest, LeavesAxesOfFactorZeroAndReturnsTheImageItselfIfAllAre)
{
  SmoothingImagePyramid<3> pyramid = pyramidOf("(ImagePyramidSchedule 0 2 0 0 0 0)", 2);

  EXPECT_EQ(pyramid.imageOfLevel(host, image, 0)->voxels,
            smoothRecursively<3>(host, *image, {0, 1, 0}).voxels);
  EXPECT_EQ(pyramid.imageOfLevel(host, image, 1), image);
}
