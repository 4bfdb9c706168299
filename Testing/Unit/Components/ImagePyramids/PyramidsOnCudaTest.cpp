// needs: GPU
#include "Components/ImagePyramids/GenericImagePyramid.h"
#include "Components/ImagePyramids/RecursiveImagePyramid.h"
#include "Components/ImagePyramids/ShrinkingImagePyramid.h"
#include "Components/ImagePyramids/SmoothingImagePyramid.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();

template <int D>
ImagePointer<D> noise(const Size<D>& size)
{
  return std::make_shared<Image<D>>(noiseImage<D>(centredGeometry<D>(size, perAxis<D>(0.7, 0.2)), 5));
}

template <int D>
struct NamedPyramid {
  std::string name;
  std::unique_ptr<ImagePyramid<D>> pyramid;
};

/// All kinds, of three levels, the generic one by its defaults and with all that it can do.
template <int D>
std::vector<NamedPyramid<D>> allPyramids()
{
  const auto parameters = [](const std::string& text) {
    return parametersOf(text, D, 3, "FixedImagePyramid0");
  };
  const auto schedule = [](const std::string& name, std::array<double, 3> levels) {
    std::string text = "(" + name;
    for (const double level : levels)
      for (int d = 0; d < D; ++d)
        text += " " + std::to_string(level + (d == 1 ? 1 : 0));
    return text + ")\n";
  };
  const std::string uneven = schedule("ImagePyramidRescaleSchedule", {6, 3, 1})
                             + schedule("ImagePyramidSmoothingSchedule", {9, 1.5, 0});
  std::vector<NamedPyramid<D>> all;
  const auto add = [&]<class Pyramid>(const std::string& name, const std::string& text) {
    all.push_back({name, std::make_unique<Pyramid>(parameters(text), ImageSide::fixed)});
  };
  add.template operator()<GenericImagePyramid<D>>("generic", "");
  add.template operator()<GenericImagePyramid<D>>("generic, uneven", uneven);
  add.template operator()<GenericImagePyramid<D>>("generic, taking voxels",
                                                  uneven + "(ImagePyramidUseShrinkImageFilter \"true\")");
  add.template operator()<RecursiveImagePyramid<D>>("recursive", "");
  add.template operator()<RecursiveImagePyramid<D>>("recursive, from the full image",
                                                    schedule("ImagePyramidSchedule", {5, 3, 2}));
  add.template operator()<ShrinkingImagePyramid<D>>("shrinking", "");
  add.template operator()<SmoothingImagePyramid<D>>("smoothing",
                                                    schedule("ImagePyramidSchedule", {20, 3, 0}));
  return all;
}

template <int D>
void expectBothDevicesAgree(const Size<D>& size)
{
  Context host, context = makeContext({DeviceKind::cuda, 0}, 1);
  const ImagePointer<D> original = noise<D>(size);
  const double largest = largestMagnitude(original->voxels);
  for (const auto& [name, pyramid] : allPyramids<D>())
    for (std::size_t level = 0; level < 3; ++level) {
      const std::string of = name + ", level " + std::to_string(level) + " of " + std::to_string(size[0])
                             + " x " + std::to_string(size[1]);
      HeldOnCuda held;
      const ImagePointer<D> expected = pyramid->imageOfLevel(host, original, level),
                            result = pyramid->imageOfLevel(context, original, level, &held),
                            again = pyramid->imageOfLevel(context, original, level);

      ASSERT_EQ(result->geometry, expected->geometry) << of;
      const double tolerance =
          16 * D * floatEpsilon * largest; // sums of at most 65 floats, roundings of poles, an axis
      EXPECT_LE(largestDifference(result->voxels, expected->voxels), tolerance) << of;
      EXPECT_EQ(result->voxels, again->voxels) << of;
      EXPECT_EQ(voxelsOnCuda<D>(context, result)->toHost(context), result->voxels) << of;
      EXPECT_EQ(result == original, expected == original) << of;
      EXPECT_EQ(held.empty(), result == original) << of;
      if (const auto steps = pyramid->stepsOfLevel(original->geometry, level); !steps.empty()) {
        for (const double part : {0.7, 0.2})
          EXPECT_EQ(
              filteredInSlabs<D>(context, *original, steps, part * filteredImageDeviceBytes<D>(size, steps))
                  ->voxels,
              result->voxels)
              << of << " in slabs";
      }
    }
}

}

using PyramidsOnCudaTest = testing::GpuTest;

TEST_F(PyramidsOnCudaTest, GiveTheImagesOfTheCpuAndTheSameBitsInSlabs)
{
  expectBothDevicesAgree<3>({17, 20, 26});
  expectBothDevicesAgree<3>({65, 33, 1});
  expectBothDevicesAgree<3>({3, 5, 130});
  expectBothDevicesAgree<3>({1, 70, 64});
  expectBothDevicesAgree<2>({9, 1500});
  expectBothDevicesAgree<2>({1500, 17});
  expectBothDevicesAgree<2>({257, 255});
}

TEST_F(PyramidsOnCudaTest, LeaveTheLevelOnTheDeviceWhileItIsHeld)
{
  const ImagePointer<3> original = noise<3>({40, 30, 20});
  const SmoothingImagePyramid<3> pyramid(parametersOf("", 3, 1, "FixedImagePyramid0"), ImageSide::fixed);
  HeldOnCuda held;

  const ImagePointer<3> image = pyramid.imageOfLevel(cuda, original, 0, &held);

  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(voxelsOnCuda<3>(cuda, image), held[0]); // nothing is copied
  EXPECT_NE(voxelsOnCuda<3>(cuda, original), held[0]);
}

TEST_F(PyramidsOnCudaTest, TakeNoMoreMemoryThanTheyTell)
{
  for (const Size<3>& size : {Size<3>{100, 90, 80}, Size<3>{30, 2, 3000}}) {
    const ImagePointer<3> original = noise<3>(size);
    for (const auto& [name, pyramid] : allPyramids<3>())
      for (std::size_t level = 0; level < 3; ++level) {
        const auto steps = pyramid->stepsOfLevel(original->geometry, level);
        if (steps.empty())
          continue;
        takePeakDeviceMemory(cuda);

        filteredImage<3>(cuda, original, steps);

        const double taken = takePeakDeviceMemory(cuda), planned = filteredImageDeviceBytes<3>(size, steps);
        EXPECT_LE(taken, planned + 8 * 512)
            << name << " level " << level;                             // arrays are rounded up to 512 bytes
        EXPECT_GE(1.3 * taken, planned) << name << " level " << level; // states of long lines are estimated
      }
  }
}

TEST_F(PyramidsOnCudaTest, KeepToTheMemoryThatIsThere)
{
  const ImagePointer<3> original = noise<3>({100, 90, 80});
  constexpr double limitBytes = 2e6; // the image has 2.9 MB
  for (const auto& [name, pyramid] : allPyramids<3>()) {
    const auto steps = pyramid->stepsOfLevel(original->geometry, 0);
    const ImagePointer<3> expected = filteredImage<3>(cuda, original, steps);
    HeldOnCuda held;
    Context limited = makeContext({DeviceKind::cuda, 0}, 1, limitBytes);

    const ImagePointer<3> result = filteredImage<3>(limited, original, steps, &held);

    EXPECT_LE(takePeakDeviceMemory(limited), limitBytes) << name;
    EXPECT_EQ(result->voxels, expected->voxels) << name;
    EXPECT_TRUE(held.empty()) << name;
  }
}

}
