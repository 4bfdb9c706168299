// needs: GPU
#include "Core/Image/Voxels/ImageOnCuda.h"

#include "Core/Image/ImageInMemory.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera {
namespace {

using namespace testing;

class ImageOnCudaTest : public GpuTest {
protected:
  /// The image of numbers that somebody else has on the device.
  template <class T>
  ImagePointer<3> imageOf(const std::vector<T>& numbers, PixelType type, const Size<3>& size)
  {
    Buffer<T> there;
    there.fromHost(cuda, numbers);
    cuda.stream->wait();
    return imageOfOthersOnCuda<3>("others", cuda, there.span().data(), type,
                                  centredGeometry<3>(size, {1, 1, 1}));
  }
};

TEST_F(ImageOnCudaTest, ExtremesAreThoseOfTheSortedValues)
{
  for (const std::size_t count : {1, 31, 32, 33, 257, 100003, 1000003}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>((i * 7919 + 5) % 7433) - 1000;
    values[count / 2] = -2048;
    values[count - 1] = NAN;
    const Context other = makeContext({DeviceKind::cuda, 0}, 2);
    Buffer<float> there;
    there.fromHost(other, values);
    const VoxelExtremes found = findExtremesOnCuda(other, std::as_const(there).span());

    const std::set<float> sorted(values.begin(), values.end() - 1);
    EXPECT_EQ(found.nonFinite, 1u) << count;
    if (count > 1) {
      EXPECT_EQ(found.least, *sorted.begin()) << count;
      EXPECT_EQ(found.greatest, *sorted.rbegin()) << count;
    }
    if (sorted.size() > 1) {
      EXPECT_EQ(found.nextLeast, *std::next(sorted.begin())) << count;
      EXPECT_EQ(found.nextGreatest, *std::next(sorted.rbegin())) << count;
    } else {
      EXPECT_TRUE(std::isinf(found.nextLeast) && std::isinf(found.nextGreatest)) << count;
    }
  }
}

TEST_F(ImageOnCudaTest, TheHostGetsTheVoxelsWhenItAsks)
{
  const Size<3> size{13, 7, 5};
  std::vector<std::int16_t> numbers(13 * 7 * 5);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<std::int16_t>(i * 97 % 4001 - 1000);
  const std::vector<float> floats(numbers.begin(), numbers.end());
  const ImagePointer<3> image = imageOf(numbers, PixelType::int16, size);
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->voxels.empty());
  EXPECT_EQ(voxelsInMemory<3>(image), floats.size());
  EXPECT_EQ(checkedImage<3>({}, "image", image).image, image);
  const Context other = makeContext({DeviceKind::cuda, 0}, 1); // every stream of the device finds them
  EXPECT_TRUE(areVoxelsOnCuda<3>(other, image));
  EXPECT_EQ(voxelsOnCuda<3>(other, image)->toHost(other), floats);
  EXPECT_EQ(extremesOnCuda<3>({}, image)->greatest, *std::ranges::max_element(floats));
  EXPECT_TRUE(image->voxels.empty()) << "nothing of that takes the host's voxels";
  EXPECT_EQ(hostVoxels<3>(image), floats);
  EXPECT_EQ(image->voxels, floats);
}

TEST_F(ImageOnCudaTest, WhatTheHostHasToTellIsNoSuchImage)
{
  std::vector<float> values(8, 1);
  EXPECT_TRUE(imageOf(values, PixelType::float32, {2, 2, 2}));
  values[3] = INFINITY;
  EXPECT_FALSE(imageOf(values, PixelType::float32, {2, 2, 2}));
  EXPECT_FALSE(imageOf(std::vector<std::int32_t>(8, (1 << 24) + 1), PixelType::int32, {2, 2, 2}));
  EXPECT_EQ(exitCodeOf([&] { imageOf(values, PixelType::float32, {0, 2, 2}); }), ExitCode::unreadableInput);
}

TEST_F(ImageOnCudaTest, ItsMemoryGoesWithTheImage)
{
  cuda = makeContext({DeviceKind::cuda, 0}, 1, 64 << 20); // whose free bytes nobody else takes
  const double bytes = 4 << 20, before = static_cast<double>(cuda.stream->freeBytes());
  ImagePointer<3> image = imageOf(std::vector<float>(1 << 20, 1), PixelType::float32, {128, 128, 64});
  auto voxels = voxelsOnCuda<3>(cuda, image);
  image.reset();
  EXPECT_EQ(voxels->toHost(cuda).front(), 1) << "the voxels keep the image";
  EXPECT_LE(static_cast<double>(cuda.stream->freeBytes()), before - bytes);
  voxels.reset();
  EXPECT_GT(static_cast<double>(cuda.stream->freeBytes()), before - bytes);
}

}
}
