#include "Core/Registration/Terms/IntensityRange.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

Image<3> gradedImage()
{
  Image<3> image = drawImage<3>(obliqueGeometry<3>({17, 19, 23}), [](const Vec<3>&) { return 0; });
  for (std::size_t i = 0; i < image.voxels.size(); ++i)
    image.voxels[i] = static_cast<float>((i * 7919) % 7433) - 1000;
  return image;
}

TEST(IntensityRangeTest, FindsTheExtremesForAnyThreadCount)
{
  const Image<3> image = gradedImage();
  const auto [lowest, highest] = std::minmax_element(image.voxels.begin(), image.voxels.end());

  for (const int threads : {1, 2, 3}) {
    const IntensityRange range =
        intensityRange<3>(Context{{}, threads}, std::make_shared<Image<3>>(image), nullptr, "image");

    EXPECT_EQ(range.lowest, *lowest);
    EXPECT_EQ(range.highest, *highest);
  }
}

TEST(IntensityRangeTest, LooksInsideTheMaskOnlyAndSkipsWhatIsNotANumber)
{
  Image<3> image = gradedImage();
  const auto inside = [&](const Vec<3>& pointMm) {
    return Ellipsoid<3>{image.geometry.centerMm(), {9, 8, 7}}(pointMm) > 0;
  };
  const Mask<3> sameGrid = drawMask<3>(image.geometry, inside);
  ImageGeometry<3> fine = image.geometry; // three voxels for each, so that centres agree
  for (int d = 0; d < 3; ++d) {
    fine.size[d] *= 3;
    fine.spacingMm[d] /= 3;
  }
  fine.originMm = image.geometry.pointFromIndex()({-1 / 3.0, -1 / 3.0, -1 / 3.0});
  const Mask<3> otherGrid = drawMask<3>(fine, inside);
  image.voxels[std::find(sameGrid.voxels.begin(), sameGrid.voxels.end(), 1) - sameGrid.voxels.begin()] =
      std::numeric_limits<float>::quiet_NaN();
  float lowest = 1e9f, highest = -1e9f;
  for (std::size_t i = 0; i < image.voxels.size(); ++i)
    if (sameGrid.voxels[i] && image.voxels[i] == image.voxels[i]) {
      lowest = std::min(lowest, image.voxels[i]);
      highest = std::max(highest, image.voxels[i]);
    }

  for (const Mask<3>* mask : {&sameGrid, &otherGrid}) {
    const IntensityRange range =
        intensityRange<3>(Context{{}, 2}, std::make_shared<Image<3>>(image), mask, "image");

    EXPECT_EQ(range.lowest, lowest);
    EXPECT_EQ(range.highest, highest);
  }
}

TEST(IntensityRangeTest, AnEmptyMaskIsAnUnreadableInput)
{
  const Image<3> image = gradedImage();
  const Mask<3> empty = drawMask<3>(image.geometry, [](const Vec<3>&) { return false; });
  const auto act = [&] {
    intensityRange<3>(Context{}, std::make_shared<Image<3>>(image), &empty, "moving image");
  };

  EXPECT_EQ(messageOf(act), "moving image: no voxel with a value lies inside its mask. Allowed: an image "
                            "with values and a mask that overlaps it.");
  EXPECT_EQ(exitCodeOf(act), ExitCode::unreadableInput);
}

}
}
