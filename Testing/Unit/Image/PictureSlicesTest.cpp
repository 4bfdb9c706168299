#include "Core/Image/Pictures/PictureSlices.h"

#include "Core/Image/Pictures/PictureBytes.h"
#include "Testing/Support/Files/StoredImages.h"

#include <algorithm>

namespace tessera {
namespace {

/// 20 x 30 x 8 voxels of 1 x 1 x 3 mm.
ImageGeometry<3> thickSlices()
{
  return {.size = {20, 30, 8}, .spacingMm = {1, 1, 3}, .originMm = {-10, -15, 40}};
}

std::vector<PictureSlice<3>> slicesOf(const ImageGeometry<3>& geometry, std::size_t slicesOfPlane,
                                      std::size_t maxPixels = 1000)
{
  return pictureSlices<3>(geometry, geometry.direction, {}, {19, 29, 7}, slicesOfPlane, 1, maxPixels);
}

/// The point of the upper left pixel's outer corner.
Vec<3> corner(const PictureSlice<3>& slice)
{
  return slice.lattice.pointFromIndex()({-0.5, -0.5, 0});
}

TEST(PictureSlicesTest, PixelsAreSquaresInMillimetresThatCoverTheImage)
{
  const std::vector<PictureSlice<3>> slices = slicesOf(thickSlices(), 1);
  ASSERT_EQ(slices.size(), 3U);
  const std::size_t sizes[3][2] = {{20, 30}, {20, 24}, {30, 24}};
  for (std::size_t i = 0; i < 3; ++i)
    for (int axis = 0; axis < 2; ++axis) {
      EXPECT_EQ(slices[i].lattice.size[axis], sizes[i][axis]) << i;
      EXPECT_NEAR(slices[i].lattice.spacingMm[axis], 1, 1e-12);
    }
  // Coronal: from the right and head to the left and feet.
  EXPECT_NEAR(corner(slices[1])[0], -10.5, 1e-9);
  EXPECT_NEAR(corner(slices[1])[2], 40 + 3 * 7.5, 1e-9);
  EXPECT_EQ(slices[1].letters, (std::array<std::string, 4>{"R", "L", "S", "I"}));
  EXPECT_EQ(slices[0].position, "S 52 mm"); // voxel 4 of 8
  EXPECT_EQ(slices[1].position, "P 0 mm");
  const auto fine = pictureSlices<3>(thickSlices(), identityMatrix<3>(), {}, {19, 29, 7}, 1, 100, 1000);
  EXPECT_EQ(fine[0].lattice.size, (Size<3>{60, 90, 1})); // three pixels a voxel
  const std::vector<PictureSlice<3>> coarse = slicesOf(thickSlices(), 1, 10);
  EXPECT_EQ(coarse[0].lattice.size, (Size<3>{7, 10, 1}));
  EXPECT_NEAR(corner(coarse[0])[1], -15.5, 1e-9);
}

TEST(PictureSlicesTest, ThePatientStandsUprightHoweverTheImageIsStored)
{
  ImageGeometry<3> turned = thickSlices(); // axes to the back, to the feet, and to the right
  turned.direction = {{{0, 0, -1}, {1, 0, 0}, {0, -1, 0}}};
  for (const PictureSlice<3>& slice : slicesOf(turned, 2)) {
    const AffineMap<3> map = slice.lattice.pointFromIndex();
    const bool isSagittal = slice.plane == "sagittal", isAxial = slice.plane == "axial";
    EXPECT_GT(map.matrix[isSagittal ? 1 : 0][0], 0) << slice.plane;
    EXPECT_GT((isAxial ? 1 : -1) * map.matrix[isAxial ? 1 : 2][1], 0) << slice.plane;
  }
  // A registration that leaves directions out of account works on the voxels' own axes.
  ImageGeometry<3> plain = turned;
  plain.direction = identityMatrix<3>();
  const auto slices = pictureSlices<3>(plain, turned.direction, {}, {19, 29, 7}, 1, 1, 1000);
  EXPECT_EQ(slices[2].plane, "sagittal");
  EXPECT_EQ(slices[2].lattice.direction[0][0], 1); // the first axis of the voxels runs to the back
}

TEST(PictureSlicesTest, SlicesAreSpreadOverTheBoxAndAThinImageHasFewer)
{
  const auto slices =
      pictureSlices<3>(thickSlices(), identityMatrix<3>(), {0, 0, 2}, {19, 29, 4}, 5, 1, 1000);
  EXPECT_EQ(std::ranges::count(slices, "axial", &PictureSlice<3>::plane), 3);
  EXPECT_EQ(std::ranges::count(slices, "coronal", &PictureSlice<3>::plane), 5);
  EXPECT_EQ(slices[0].position, "S 46 mm");
  EXPECT_EQ(slices[2].position, "S 52 mm");
  const ImageGeometry<2> flat{{31, 17}, {2, 3}, {5, 5}};
  const auto one = pictureSlices<2>(flat, flat.direction, {}, {30, 16}, 7, 1, 1000);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].letters[0], "");
  EXPECT_EQ(everyNthPixel<2>(one[0].lattice, 2).size, (Size<2>{16, 13}));
}

TEST(PictureBytesTest, AFileInMemoryIsReadAsItsPicture)
{
  const testing::TemporaryFolder folder;
  std::vector<std::uint8_t> grey(24 * 16);
  for (std::size_t i = 0; i < grey.size(); ++i)
    grey[i] = static_cast<std::uint8_t>(10 * (i % 24));
  const Image<2> read = testing::loadedImage<2>(folder.write("a.jpg", jpegBytes(grey, 24, 16, 95))).image;
  ASSERT_EQ(read.geometry.size, (Size<2>{24, 16}));
  for (std::size_t i = 0; i < grey.size(); ++i)
    EXPECT_NEAR(read.voxels[i], grey[i], 6) << i;
  EXPECT_LT(jpegBytes(grey, 24, 16, 30).size(), jpegBytes(grey, 24, 16, 95).size());

  const IndexedPicture picture{5, 3, {0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 0, 1, 2, 3, 0}};
  const std::string png = pngBytes(picture, {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {9, 9, 9}}, true);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png[24], 2); // bits a pixel, which four colours take
  EXPECT_PRED2(testing::contains, png, "tRNS");
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
}

}
}
