// needs: Runs
#include "Core/Runs/MissingVoxels.h"

#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace tessera {
namespace {

using VoxelIndex = std::array<std::size_t, 3>;

/// An image of 16 x 14 x 12 voxels with values from 100 to 139, without those that are missing.
CheckedImage<3> imageWithout(const std::function<bool(const VoxelIndex&)>& isMissing)
{
  const ImageGeometry<3> geometry = testing::centredGeometry<3>({16, 14, 12}, {1, 1, 2});
  Image<3> image{geometry, {}};
  std::vector<std::uint8_t> finite;
  for (std::size_t z = 0; z < 12; ++z)
    for (std::size_t y = 0; y < 14; ++y)
      for (std::size_t x = 0; x < 16; ++x) {
        finite.push_back(!isMissing({x, y, z}));
        image.voxels.push_back(finite.back() ? 100 + static_cast<float>(x + y + z) : 0);
      }
  return {std::make_shared<Image<3>>(std::move(image)), 1,
          std::make_shared<Mask<3>>(geometry, std::move(finite))};
}

bool isOutsideBall(const VoxelIndex& i)
{
  const double x = (static_cast<double>(i[0]) - 7.5) / 6, y = (static_cast<double>(i[1]) - 6.5) / 6,
               z = (static_cast<double>(i[2]) - 5.5) / 5;
  return x * x + y * y + z * z > 1;
}

TEST(MissingVoxelsTest, SlicesAtTheEndsAndScatteredVoxelsAreLeftOutAndFollowTheirNeighbours)
{
  const auto isMissing = [](const VoxelIndex& i) {
    return i[2] < 2 || i[2] == 11 || (i[0] * 7 + i[1] * 5 + i[2] * 3) % 31 == 0;
  };
  const CheckedImage<3> read = imageWithout(isMissing);
  Context context;
  const PreparedVoxels<3> prepared = prepareVoxels<3>(context, read, nullptr);

  ASSERT_TRUE(prepared.valid);
  EXPECT_FALSE(prepared.background);
  EXPECT_EQ(prepared.valid->voxels, read.finiteVoxels->voxels);
  for (std::size_t v = 0; v < read.image->voxels.size(); ++v) {
    const float value = prepared.image->voxels[v];
    if (read.finiteVoxels->voxels[v]) {
      ASSERT_EQ(value, read.image->voxels[v]);
    } else {
      ASSERT_NEAR(value, 100 + static_cast<double>(v % 16 + v / 16 % 14 + v / 224), 4.5) << v;
    }
  }
}

TEST(MissingVoxelsTest, BackgroundAroundAnObjectIsTheLeastValueOrZero)
{
  Context context;
  CheckedImage<3> read = imageWithout(isOutsideBall);
  PreparedVoxels<3> prepared = prepareVoxels<3>(context, read, nullptr);
  EXPECT_FALSE(prepared.valid);
  EXPECT_EQ(prepared.background, 110); // of the ball
  EXPECT_EQ(prepared.image->voxels.front(), 110);

  auto negative = std::make_shared<Image<3>>(*read.image);
  negative->voxels[5 * 224 + 6 * 16 + 7] = -1;
  read.image = negative;
  prepared = prepareVoxels<3>(context, read, nullptr);
  EXPECT_EQ(prepared.background, 0);
  EXPECT_EQ(prepared.image->voxels, negative->voxels);
}

TEST(MissingVoxelsTest, AFewValuesFarFromTheOthersGiveThoseTheirMean)
{
  const CheckedImage<3> read = imageWithout([](const VoxelIndex& i) { return i != VoxelIndex{3, 3, 3}; });
  Context context;
  const PreparedVoxels<3> prepared = prepareVoxels<3>(context, read, nullptr);
  for (const float value : prepared.image->voxels)
    ASSERT_NEAR(value, 109, 1e-3);
}

/// The image without holes, with `value` at every so-many-th voxel.
std::optional<ConstantFilling> fillingOf(float value, std::size_t every, float factor = 1, float shift = 0)
{
  Image<3> image = *imageWithout([](const VoxelIndex&) { return false; }).image;
  for (float& voxel : image.voxels)
    voxel = factor * voxel + shift;
  for (std::size_t v = 0; v < image.voxels.size(); v += every)
    image.voxels[v] = value;
  return findConstantFilling<3>({}, {std::make_shared<Image<3>>(std::move(image)), 0, nullptr});
}

TEST(MissingVoxelsTest, AFillingLiesFarFromManyOtherValues)
{
  EXPECT_FALSE(
      findConstantFilling<3>({}, {imageWithout([](const VoxelIndex&) { return false; }).image, 0, nullptr}));
  for (const float value : {-32768.0f, 9.97e36f, 60.0f, 180.0f}) {
    const std::optional<ConstantFilling> filling = fillingOf(value, 5);
    ASSERT_TRUE(filling) << value;
    EXPECT_EQ(filling->value, value);
    EXPECT_EQ(filling->voxels, (16u * 14 * 12 + 4) / 5);
    EXPECT_EQ(filling->least, 101);
    EXPECT_EQ(filling->greatest, 139);
    EXPECT_TRUE(filling->isFar);
  }
  const std::optional<ConstantFilling> near = fillingOf(-2048, 5, 50, -6000); // beside -950 to 950
  ASSERT_TRUE(near);
  EXPECT_FALSE(near->isFar);
  EXPECT_FALSE(fillingOf(65, 5)); // as near as the others
  EXPECT_FALSE(fillingOf(-1100, 5, 50, -6000));
  EXPECT_FALSE(fillingOf(0, 5));              // the usual background
  EXPECT_FALSE(fillingOf(400, 2000));         // two voxels
  EXPECT_TRUE(fillingOf(1e6f, 2000));         // two that lie too far for an intensity
  EXPECT_FALSE(fillingOf(255, 5, 1e-30f, 7)); // two labels
}

TEST(MissingVoxelsTest, AFillingIsLeftOutAsIfItWereNoNumber)
{
  const ImagePointer<3> whole = imageWithout([](const VoxelIndex&) { return false; }).image;
  auto filled = std::make_shared<Image<3>>(*whole);
  for (std::size_t v = 0; v < 16 * 14; ++v)
    filled->voxels[v] = -32768;
  Context context;
  const std::optional<ConstantFilling> filling = findConstantFilling<3>({}, {filled, 0, nullptr});
  const PreparedVoxels<3> prepared = prepareVoxels<3>(context, {filled, 0, nullptr}, &*filling);
  ASSERT_TRUE(prepared.valid);
  EXPECT_EQ(std::ranges::count(prepared.valid->voxels, 0), 16 * 14);
  EXPECT_NEAR(prepared.image->voxels[100], whole->voxels[100], 2);
}

}
}
