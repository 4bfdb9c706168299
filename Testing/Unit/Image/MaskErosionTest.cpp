#include "Core/Image/Filters/MaskErosion.h"

#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace tessera;
using namespace tessera::testing;

namespace {

/// Grey erosion by the parabola k^2 / (2 scale) along one axis after the other, truncated to integers each
/// time, by definition.
template <int D>
std::vector<std::uint8_t> erodedByDefinition(std::vector<std::uint8_t> voxels, const Size<D>& size,
                                             const Vec<D>& radius)
{
  std::size_t stride = 1;
  for (int d = 0; d < D; ++d) {
    const double scale = radius[d] * radius[d] / 2 + 1;
    const std::vector<std::uint8_t> before = voxels;
    forEachIndex<D>(size, [&](const Vec<D>& index, std::size_t offset) {
      double smallest = 255;
      for (std::size_t other = 0; other < size[d]; ++other) {
        const double k = static_cast<double>(other) - index[d];
        const std::uint8_t value =
            before[offset + stride * other - stride * static_cast<std::size_t>(index[d])];
        smallest = std::min(smallest, value + k * k / (2 * scale));
      }
      voxels[offset] = static_cast<std::uint8_t>(std::floor(smallest));
    });
    stride *= size[d];
  }
  return voxels;
}

/// Full but for a few holes.
template <int D>
MaskPointer<D> maskWithHoles(const Size<D>& size, std::size_t holeEvery)
{
  std::vector<std::uint8_t> voxels(obliqueGeometry<D>(size).voxelCount(), 1);
  for (std::size_t i = holeEvery / 2; i < voxels.size(); i += holeEvery)
    voxels[i] = 0;
  return std::make_shared<Mask<D>>(obliqueGeometry<D>(size), voxels);
}

std::string rowOf(const Mask<2>& mask)
{
  std::string text;
  for (const std::uint8_t v : mask.voxels)
    text += v ? '1' : '.';
  return text;
}

MaskPointer<2> rowMask(const std::string& text)
{
  std::vector<std::uint8_t> voxels;
  for (const char c : text)
    voxels.push_back(c == '.' ? 0 : 255); // any value but 0 is inside
  return std::make_shared<Mask<2>>(centredGeometry<2>({text.size(), 1}, {1, 1}), voxels);
}

}

TEST(MaskErosionTest, TakesScheduleAndOneVoxelsFromFixedMasks)
{
  EXPECT_EQ(rowOf(*erodeMask<2>(host, rowMask("..1111111111.."), {2, 2}, ImageSide::fixed)),
            ".....1111.....");
}

TEST(MaskErosionTest, TakesTwiceTheScheduleAndOneVoxelsFromMovingMasks)
{
  EXPECT_EQ(rowOf(*erodeMask<2>(host, rowMask(".11111111111."), {2, 2}, ImageSide::moving)), "......1......");
}

TEST(MaskErosionTest, AnIntersectionHasTheGridOfTheFirstMask)
{
  const auto coarse =
      std::make_shared<const Mask<2>>(centredGeometry<2>({3, 1}, {2, 2}), std::vector<std::uint8_t>{1, 0, 1});
  EXPECT_EQ(rowOf(*intersectionOf<2>(rowMask("11111."), coarse)), "11..1.");
  EXPECT_EQ(intersectionOf<2>(coarse, nullptr), coarse);
  EXPECT_EQ(intersectionOf<2>(nullptr, coarse), coarse);
}

TEST(MaskErosionTest, TakesNothingAtTheImageBorder)
{
  EXPECT_EQ(rowOf(*erodeMask<2>(host, rowMask("11111111.1"), {1, 1}, ImageSide::fixed)), "111111....");
}

TEST(MaskErosionTest, TakesNothingAlongAnAxisWithoutSmoothing)
{
  for (const ImageSide side : {ImageSide::fixed, ImageSide::moving})
    EXPECT_EQ(rowOf(*erodeMask<2>(host, rowMask("111.1.1"), {0, 1}, side)), "111.1.1");
}

TEST(MaskErosionTest, AgreesWithParabolicErosionByDefinition)
{
  for (const double schedule : {1.0, 2.0, 4.0})
    for (const ImageSide side : {ImageSide::fixed, ImageSide::moving}) {
      const Vec<3> schedules{schedule, 1, 2};
      Vec<3> radius;
      for (int d = 0; d < 3; ++d)
        radius[d] = (side == ImageSide::fixed ? 1 : 2) * schedules[d] + 1;
      const Size<3> size{33, 17, 19};
      const MaskPointer<3> mask = maskWithHoles<3>(size, 2311);

      const MaskPointer<3> result = erodeMask<3>(host, mask, schedules, side);

      EXPECT_EQ(result->voxels, erodedByDefinition<3>(mask->voxels, size, radius)) << schedule;
      EXPECT_EQ(result->geometry, mask->geometry);
      EXPECT_GT(std::count(result->voxels.begin(), result->voxels.end(), 1), 0) << "the case tests nothing";
    }
}

TEST(MaskErosionTest, KeepsFullAndEmptyMasks)
{
  const auto full = std::make_shared<Mask<2>>(obliqueGeometry<2>({5, 4}), std::vector<std::uint8_t>(20, 1));
  const auto empty = std::make_shared<Mask<2>>(obliqueGeometry<2>({5, 4}), std::vector<std::uint8_t>(20, 0));

  EXPECT_EQ(erodeMask<2>(host, full, {8, 8}, ImageSide::moving)->voxels, full->voxels);
  EXPECT_EQ(erodeMask<2>(host, empty, {1, 1}, ImageSide::fixed)->voxels, empty->voxels);
}

TEST(MaskErosionTest, GivesTheSameResultForAnyThreadCount)
{
  const MaskPointer<2> mask = maskWithHoles<2>({5003, 31}, 9001);
  Context one, three;
  three.threads = 3;

  EXPECT_EQ(erodeMask<2>(one, mask, {3, 1}, ImageSide::fixed)->voxels,
            erodeMask<2>(three, mask, {3, 1}, ImageSide::fixed)->voxels);
}
