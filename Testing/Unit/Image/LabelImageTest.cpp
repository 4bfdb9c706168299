#include "Core/Image/Voxels/LabelImage.h"

#include "Core/Image/Voxels/PixelRounding.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace tessera {
namespace {

using testing::TemporaryFolder;

constexpr std::int64_t huge = std::int64_t(1) << 62; // neighbours of it are one number in float and in double

class LabelImageTest : public ::testing::Test {
protected:
  template <class T>
  std::string write(PixelType type, const std::vector<T>& values)
  {
    const ImageGeometry<2> geometry = testing::centredGeometry<2>({values.size(), 1}, {1, 1});
    writeStoredImage<2>(folder / "labels.mha", geometry, type, 1, std::as_bytes(std::span(values)), false, 1);
    return folder / "labels.mha";
  }

  template <class T>
  static std::vector<T> decoded(const LabelTable& table, const std::vector<float>& values, int threads = 1)
  {
    std::vector<T> stored(values.size());
    table.decode(values, reinterpret_cast<std::byte*>(stored.data()), threads);
    return stored;
  }

  TemporaryFolder folder;
};

TEST_F(LabelImageTest, SmallLabelsAreTheirOwnNumbers)
{
  const std::vector<std::int32_t> labels{0, -5, 7, (1 << 24), 7};
  const LabelImage<2> image = readLabelImage<2>(write(PixelType::int32, labels), {}, 0, 1);

  EXPECT_FALSE(image.table.isNumbered());
  EXPECT_EQ(image.loaded.image.voxels, (std::vector<float>{0, -5, 7, 1 << 24, 7}));
  EXPECT_EQ(decoded<std::int32_t>(image.table, image.loaded.image.voxels), labels);
}

TEST_F(LabelImageTest, LargeLabelsComeBackAndKeepTheirOrder)
{
  const std::vector<std::int64_t> labels{huge + 1, huge, huge, -huge - 1, 3, huge + 2};
  for (const double outside : {0.0, 2.0, -1000.0, 0.5, 77.0}) {
    SCOPED_TRACE(outside);
    const LabelImage<2> image = readLabelImage<2>(write(PixelType::int64, labels), {}, outside, 1);
    const std::vector<float>& numbers = image.loaded.image.voxels;

    EXPECT_TRUE(image.table.isNumbered());
    EXPECT_EQ(decoded<std::int64_t>(image.table, numbers, 2), labels);
    EXPECT_LT(numbers[3], numbers[4]);
    EXPECT_LT(numbers[4], numbers[1]);
    EXPECT_LT(numbers[1], numbers[0]);
    EXPECT_LT(numbers[0], numbers[5]);
    for (const float number : numbers)
      EXPECT_NE(number, static_cast<float>(outside)); // which stands for itself
    EXPECT_EQ(decoded<std::int64_t>(image.table, {static_cast<float>(outside)}),
              std::vector<std::int64_t>{static_cast<std::int64_t>(std::floor(outside + 0.5))});
  }
}

TEST_F(LabelImageTest, ManyLabelsAreNumberedInTheirOrderByAnyNumberOfThreads)
{
  constexpr std::size_t count = 3 * 65536 + 1234; // several ranges of threads, and a rest
  std::vector<std::int32_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) // most of them once, some in runs across ranges
    labels[i] = i % 65536 > 65000 || i % 65536 < 500 ? 1 << 30 : static_cast<std::int32_t>(i * 2654435761u);
  const std::set<std::int32_t> ordered(labels.begin(), labels.end());
  std::map<std::int32_t, float> expected; // without the number 7, which stands for outside
  for (const std::int32_t label : ordered) {
    const std::size_t before = expected.size();
    expected[label] = static_cast<float>(before + (before >= 7));
  }
  for (const int threads : {1, 3}) {
    const LabelImage<2> image = readLabelImage<2>(write(PixelType::int32, labels), {}, 7, threads);
    ASSERT_TRUE(image.table.isNumbered());
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(image.loaded.image.voxels[i], expected[labels[i]]) << i;
    EXPECT_EQ(decoded<std::int32_t>(image.table, image.loaded.image.voxels, threads) == labels, true);
  }
}

TEST_F(LabelImageTest, ZeroIsOneLabel)
{
  const LabelImage<2> image =
      readLabelImage<2>(write(PixelType::float64, std::vector<double>{-0.0, 16777217, 0.0}), {}, 7, 1);

  const std::vector<float>& numbers = image.loaded.image.voxels;
  EXPECT_EQ(numbers[0], numbers[2]);
  EXPECT_FALSE(std::signbit(decoded<double>(image.table, {numbers[0]})[0]));
}

TEST_F(LabelImageTest, UnsignedLabelsAndWhatLiesOutsideOfTheirRange)
{
  const std::vector<std::uint32_t> labels{4000000001u, 4000000002u, 0};
  const LabelImage<2> image = readLabelImage<2>(write(PixelType::uint32, labels), {}, -1000, 1);

  EXPECT_EQ(decoded<std::uint32_t>(image.table, image.loaded.image.voxels), labels);
  EXPECT_EQ(decoded<std::uint32_t>(image.table, {-1000.0f}), std::vector<std::uint32_t>{0});
}

TEST_F(LabelImageTest, LargeNumbersBecomeThoseOfAnotherTypeAndWhatItDoesNotHoldIsCounted)
{
  const std::vector<std::int64_t> labels{16777217, -16777219, 4294967295, huge + 1};
  const LabelImage<2> image = readLabelImage<2>(write(PixelType::int64, labels), {}, -5, 1);
  std::vector<std::uint32_t> stored(4);
  const std::vector<float>& numbers = image.loaded.image.voxels;

  EXPECT_EQ(image.table.decode(numbers, reinterpret_cast<std::byte*>(stored.data()), 1, PixelType::uint32),
            2u);
  EXPECT_EQ(stored, (std::vector<std::uint32_t>{16777217, 0, 4294967295, 4294967295}));
}

TEST_F(LabelImageTest, WhatIsOutsideMayBeBeyondFloats)
{
  const std::vector<double> labels{2, (1 << 25) + 1};
  for (const double outside : {1e300, -1e300}) {
    const LabelImage<2> image = readLabelImage<2>(write(PixelType::float64, labels), {}, outside, 1);

    EXPECT_EQ(decoded<double>(image.table, image.loaded.image.voxels), labels);
    EXPECT_EQ(decoded<double>(image.table, {asIntensity(outside)}),
              std::vector<double>{outside}); // as resamplers write it
  }
}

TEST_F(LabelImageTest, DoublesToo)
{
  const double nan = std::nan("");
  const std::vector<double> labels{16777217, 16777219, nan, 2};
  const LabelImage<2> image = readLabelImage<2>(write(PixelType::float64, labels), {}, 0, 1);

  EXPECT_EQ(image.loaded.nanVoxels, 1u);
  EXPECT_EQ(image.loaded.finiteVoxels->voxels, (std::vector<std::uint8_t>{1, 1, 0, 1}));
  const std::vector<float>& numbers = image.loaded.image.voxels;
  EXPECT_EQ(decoded<double>(image.table, {numbers[0], numbers[1], numbers[3]}),
            (std::vector<double>{16777217, 16777219, 2}));
}

TEST_F(LabelImageTest, WhatIsNoWholeNumberIsRefused)
{
  const auto expectRefused = [](const std::string& path, const std::string& number) {
    const std::string text =
        testing::errorText([&] { readLabelImage<2>(path, {}, 0, 1); }, ExitCode::unreadableInput);
    EXPECT_TRUE(text.starts_with(path + ": " + number)) << text;
    EXPECT_TRUE(text.ends_with(" is no label. Allowed: " + allowedLabels + ".")) << text;
  };
  expectRefused(write(PixelType::float32, std::vector<float>{1, 0.5, NAN}), "0.5");
  expectRefused(write(PixelType::float64, std::vector<double>{16777217, 1.0 / 3}), "0.333333");
}

TEST_F(LabelImageTest, MoreLabelsThanFloatsTellApartAreRefusedWithAWayOut)
{
  constexpr std::size_t most = (std::size_t(1) << 24) - 1;
  std::vector<std::int32_t> labels(most + 1);
  std::iota(labels.begin(), labels.end(), 1);
  std::vector<float> numbers(labels.size());
  LabelTable table(PixelType::int32, 0);
  table.beNumbered();
  table.number<std::int32_t>("a.mha", std::span(labels).first(most), std::span(numbers).first(most), 1);
  EXPECT_EQ(decoded<std::int32_t>(table, {numbers[most - 1], numbers[0]}),
            (std::vector<std::int32_t>{most, 1}));
  EXPECT_EQ(testing::errorText([&] { table.number<std::int32_t>("a.mha", labels, numbers, 1); },
                               ExitCode::unreadableInput),
            "a.mha: 16777216 different labels. Allowed: fewer than 2^24 in memory at a time, which single "
            "precision tells apart (on the CPU, a smaller --max-memory of tessera-transform has fewer slices "
            "there).");
}

TEST_F(LabelImageTest, VectorsAreNoLabels)
{
  const ImageGeometry<2> geometry = testing::centredGeometry<2>({2, 1}, {1, 1});
  writeVectorImage<2>(folder / "v.mha", {geometry, 2, {1, 2, 3, 4}}, false);

  EXPECT_EQ(
      testing::errorText([&] { readLabelImage<2>(folder / "v.mha", {}, 0, 1); }, ExitCode::unreadableInput),
      folder / "v.mha" + ": 2 components a voxel: no label map. Allowed: one component a voxel.");
}

}
}
