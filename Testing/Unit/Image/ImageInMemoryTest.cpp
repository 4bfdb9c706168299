#include "Core/Image/ImageInMemory.h"
#include "Testing/Support/Files/StoredImages.h"

#include <cmath>
#include <cstring>

namespace tessera {
namespace {

using namespace testing;

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// The message about an image of one float a voxel, but at most 1000.
template <int D>
std::string complaint(const ImageGeometry<D>& geometry)
{
  const std::size_t voxels = std::min<std::size_t>(1000, geometry.voxelCount());
  const auto image = std::make_shared<Image<D>>(Image<D>{geometry, std::vector<float>(voxels, 1)});
  const std::string message = errorText(
      [&] {
        checkedImage<D>({{}, 1}, "fixed", image);
      },
      ExitCode::unreadableInput);
  const float value = 1;
  std::vector<std::string> notes;
  const StridedVoxels<D> view{&value, PixelType::float32, {}};
  if (geometry.voxelCount() <= 1000) {
    EXPECT_EQ(
        errorText([&] { imageFromStrided<D>("fixed", view, geometry, notes, 1); }, ExitCode::unreadableInput),
        message);
  }
  return message;
}

TEST(ImageInMemory, GeometryIsCheckedInTheWordsForFiles)
{
  const ImageGeometry<3> sound = centredGeometry<3>({4, 3, 2}, {1, 1, 1});
  ImageGeometry<3> geometry = sound;
  geometry.size[1] = 0;
  EXPECT_EQ(complaint(geometry), "fixed: size 0 on axis 1: the image has no voxels. Allowed: at least one "
                                 "voxel on each axis.");
  for (const double spacing : {0.0, -1.0, notANumber, HUGE_VAL}) {
    geometry = sound;
    geometry.spacingMm[2] = spacing;
    EXPECT_PRED2(contains, complaint(geometry), "on axis 2: a voxel must have an extent") << spacing;
  }
  for (const double origin : {notANumber, -HUGE_VAL}) {
    geometry = sound;
    geometry.originMm[0] = origin;
    EXPECT_PRED2(contains, complaint(geometry), "on axis 0: not a position") << origin;
  }
  for (const double cosine : {0.0, notANumber, HUGE_VAL}) {
    geometry = sound;
    geometry.direction[2][2] = cosine;
    EXPECT_PRED2(contains, complaint(geometry), "the matrix is singular") << cosine;
  }
}

TEST(ImageInMemory, ThereIsOneVoxelForEachOfTheGrid)
{
  EXPECT_EQ(complaint<2>({{1001, 2}, {1, 1}, {}}),
            "fixed: 1000 voxels in memory: the size is 1001 x 2. Allowed: one number for each voxel.");
  const std::size_t half = std::size_t(1) << 32; // voxelCount() would overflow to 0
  const auto image = std::make_shared<Image<2>>(Image<2>{{{half, half}, {1, 1}, {}}, {}});
  EXPECT_EQ(exitCodeOf([&] { checkedImage<2>({{}, 1}, "fixed", image); }), ExitCode::unreadableInput);
}

TEST(ImageInMemory, AnImageOfFiniteNumbersIsShared)
{
  const auto image = std::make_shared<Image<3>>(byteNoise());
  const CheckedImage<3> checked = checkedImage<3>({{}, 2}, "fixed", image);
  EXPECT_EQ(checked.image, image);
  EXPECT_EQ(checked.nanVoxels, 0u);
  EXPECT_EQ(checked.finiteVoxels, nullptr);
}

TEST(ImageInMemory, VoxelsThatAreNotFiniteAreSetAsideAsThoseOfAFile)
{
  Image<3> noise = byteNoise();
  noise.voxels[5] = NAN;
  noise.voxels[700] = -INFINITY;
  const TemporaryFolder folder;
  writeImage(folder / "image.mha", noise, PixelType::float32, false);
  const LoadedImage<3> read = loadedImage<3>(folder / "image.mha");
  const auto image = std::make_shared<Image<3>>(noise);

  const CheckedImage<3> checked = checkedImage<3>({{}, 2}, "fixed", image);

  EXPECT_EQ(checked.nanVoxels, 2u);
  EXPECT_EQ(checked.image->voxels, read.image.voxels);
  ASSERT_TRUE(checked.finiteVoxels && read.finiteVoxels);
  EXPECT_EQ(checked.finiteVoxels->voxels, read.finiteVoxels->voxels);
  EXPECT_TRUE(std::isnan(image->voxels[5])) << "the caller's own image was changed";
  const auto none =
      std::make_shared<Image<3>>(Image<3>{noise.geometry, std::vector<float>(noise.voxels.size(), NAN)});
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     checkedImage<3>({{}, 2}, "fixed", none);
                   },
                   ExitCode::unreadableInput),
               "voxels is a finite number");
}

TEST(ImageInMemory, MasksAreCheckedAsFilesAre)
{
  const ImageGeometry<2> geometry = centredGeometry<2>({2, 2}, {1, 1});
  checkMask<2>("fMask", Mask<2>(geometry, {0, 0, 1, 0}));
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     checkMask<2>("fMask", Mask<2>(geometry, {0, 0, 0, 0}));
                   },
                   ExitCode::unreadableInput),
               "it is empty");
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     checkMask<2>("fMask", Mask<2>(geometry, {1, 1, 1}));
                   },
                   ExitCode::unreadableInput),
               "3 voxels in memory");
}

/// A view of numbers in an array whose axes run in another order, one of them backwards, with gaps and
/// without alignment.
template <class T>
struct View {
  ImageGeometry<3> geometry = centredGeometry<3>({70, 41, 37}, {1, 2, 3}); // more than convertedAtOnce
  std::vector<std::byte> bytes;
  StridedVoxels<3> voxels;

  explicit View(PixelType type)
  {
    const auto size = [&](int axis) { return static_cast<std::ptrdiff_t>(geometry.size[axis]); };
    const std::ptrdiff_t alongY = sizeof(T) + 1, alongX = size(1) * alongY, alongZ = size(0) * alongX;
    bytes.resize(static_cast<std::size_t>(size(2) * alongZ) + 1);
    voxels = {bytes.data() + 1 + (size(2) - 1) * alongZ, type, {alongX, alongY, -alongZ}};
  }
  void set(std::size_t x, std::size_t y, std::size_t z, T value)
  {
    const std::ptrdiff_t from = voxels.stepBytes[0] * static_cast<std::ptrdiff_t>(x)
                                + voxels.stepBytes[1] * static_cast<std::ptrdiff_t>(y)
                                + voxels.stepBytes[2] * static_cast<std::ptrdiff_t>(z);
    std::memcpy(bytes.data() + (static_cast<const std::byte*>(voxels.first) - bytes.data()) + from, &value,
                sizeof value);
  }
};

TEST(ImageInMemory, StridedVoxelsOfEveryTypeAreCopied)
{
  for (const PixelType type : allPixelTypes)
    withPixelType(type, [&]<class T>(std::type_identity<T>) {
      View<T> view(type);
      std::vector<float> expected;
      std::vector<std::uint8_t> inside;
      for (std::size_t z = 0; z < 37; ++z)
        for (std::size_t y = 0; y < 41; ++y)
          for (std::size_t x = 0; x < 70; ++x) {
            const auto value = static_cast<T>((x + 3 * y + 7 * z) % 101);
            view.set(x, y, z, value);
            expected.push_back(static_cast<float>(value));
            inside.push_back(value != 0);
          }
      std::vector<std::string> notes;
      for (const int threads : {1, 3}) {
        EXPECT_EQ(imageFromStrided("fixed", view.voxels, view.geometry, notes, threads).image.voxels,
                  expected)
            << pixelTypeName(type);
        EXPECT_EQ(maskFromStrided("fMask", view.voxels, view.geometry, threads).voxels, inside)
            << pixelTypeName(type);
      }
      EXPECT_TRUE(notes.empty());
    });
}

TEST(ImageInMemory, StridedVoxelsFollowTheRulesOfFiles)
{
  const ImageGeometry<2> geometry = centredGeometry<2>({3, 1}, {1, 1});
  std::vector<std::string> notes;
  const double reals[] = {NAN, 1e300, 2};
  const StridedVoxels<2> ofReals{reals, PixelType::float64, {sizeof(double), 0}};
  const LoadedImage<2> loaded = imageFromStrided("fixed", ofReals, geometry, notes, 1);
  EXPECT_EQ(loaded.image.voxels, (std::vector<float>{0, 0, 2}));
  EXPECT_EQ(loaded.nanVoxels, 2u);
  ASSERT_TRUE(loaded.finiteVoxels);
  EXPECT_EQ(loaded.finiteVoxels->voxels, (std::vector<std::uint8_t>{0, 0, 1}));
  EXPECT_EQ(maskFromStrided("fMask", ofReals, geometry, 1).voxels, (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_TRUE(notes.empty());

  const std::int64_t whole[] = {(1 << 24) + 1, 1 << 24, 0};
  imageFromStrided<2>("fixed", {whole, PixelType::int64, {sizeof whole[0], 0}}, geometry, notes, 1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("fixed: 1 whole numbers above 2^24 are rounded"));

  const StridedVoxels<2> zero{&whole[2], PixelType::int64, {}};
  EXPECT_EQ(exitCodeOf([&] { maskFromStrided("fMask", zero, geometry, 1); }), ExitCode::unreadableInput);
  const std::size_t far = std::size_t(1) << 31;
  EXPECT_EQ(exitCodeOf([&] {
              imageFromStrided<2>("fixed", zero, {{far, far}, {1, 1}, {}}, notes, 1);
            }),
            ExitCode::outOfMemory);
}

}
}
