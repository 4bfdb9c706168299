#include "Core/Image/Pictures/ComparisonPictures.h"

#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

/// Bright above half of the axis.
Image<3> half(int axis)
{
  const ImageGeometry<3> grid{.size = {16, 12, 8}, .spacingMm = {1, 1, 2}};
  const double middleMm = grid.spacingMm[axis] * static_cast<double>(grid.size[axis] / 2);
  return testing::drawImage<3>(grid, [&](const Vec<3>& p) { return p[axis] >= middleMm ? 100 : 0; });
}

int level(const Picture& picture, std::size_t x, std::size_t y)
{
  return picture.pixels[y * picture.width + x][1];
}

TEST(ComparisonPicturesTest, ShowThreePlanesInMillimetresWithTheHeadAbove)
{
  const Image<3> image = half(2);
  const Picture picture = comparisonPicture<3>(Comparison::checkerboard, image, image, {}, {8, 6, 2});
  EXPECT_EQ(picture.width, 16U + 4 + 16 + 4 + 12); // axial, coronal, sagittal
  EXPECT_EQ(picture.height, 16U);                  // 8 slices of 2 mm
  EXPECT_EQ(level(picture, 3, 3), 0);              // the axial slice is a dark one
  EXPECT_EQ(level(picture, 25, 1), 255);           // the head is bright
  EXPECT_EQ(level(picture, 25, 14), 0);
  Image<3> turned = image; // the last axis runs to the feet
  turned.geometry.direction[2][2] = -1;
  EXPECT_EQ(level(comparisonPicture<3>(Comparison::checkerboard, turned, turned, {}, {8, 6, 2}), 25, 1), 0);
}

TEST(ComparisonPicturesTest, CheckerboardsAlternate)
{
  Image<3> dark = half(0), bright = half(0);
  for (float& value : bright.voxels)
    value = 100 - value;
  const Picture picture = comparisonPicture<3>(Comparison::checkerboard, dark, bright, {}, {8, 6, 4});
  EXPECT_EQ(level(picture, 0, 0), 0); // squares of 2 pixels
  EXPECT_EQ(level(picture, 2, 0), 255);
  EXPECT_EQ(level(picture, 2, 2), 0);
}

TEST(ComparisonPicturesTest, DifferencesAreOfZScores)
{
  const Image<3> first = half(0);
  Image<3> scaled = first;
  for (float& value : scaled.voxels)
    value = 3 * value - 50; // the same z-scores
  for (const auto& pixel : comparisonPicture<3>(Comparison::difference, first, scaled, {}, {8, 6, 4}).pixels)
    EXPECT_TRUE(pixel[0] == 128 || pixel[0] == 0); // 0 between the panels
  for (float& value : scaled.voxels)
    value = -value; // z-scores of -1 and 1 in place of 1 and -1
  const Picture picture = comparisonPicture<3>(Comparison::difference, first, scaled, {}, {8, 6, 4});
  EXPECT_EQ(level(picture, 1, 1), 213); // 127.5 + 127.5 * 2 / 3, rounded
  EXPECT_EQ(level(picture, 14, 1), 43);
}

TEST(ComparisonPicturesTest, EdgesOfTheFirstLieOverTheSecond)
{
  const Picture picture = comparisonPicture<3>(Comparison::edges, half(0), half(1), {}, {8, 6, 4});
  for (std::size_t y = 1; y < 11; ++y) { // there are no edges at the border
    int edges = 0;
    for (std::size_t x = 0; x < 16; ++x) {
      const auto& pixel = picture.pixels[y * picture.width + x];
      const bool isEdge = pixel[0] != pixel[2];
      edges += isEdge;
      EXPECT_TRUE(!isEdge || x == 7 || x == 8) << x << " " << y;
      EXPECT_TRUE(isEdge || pixel[1] == (y < 6 ? 0 : 255));
    }
    EXPECT_EQ(edges, 1) << y;
  }
}

}
}
