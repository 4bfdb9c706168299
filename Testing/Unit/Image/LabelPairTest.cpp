#include "Core/Image/Voxels/LabelPair.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/LabelTable.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <limits>

namespace tessera {
namespace {

using testing::TemporaryFolder;

constexpr std::int64_t allen = 614454277; // float has 614454272 for this number
constexpr std::int64_t beyondDouble = (1ll << 53) + 1;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class LabelPairTest : public ::testing::Test {
protected:
  template <class T>
  LabelFile write(const std::string& name, PixelType type, const std::vector<T>& values)
  {
    const ImageGeometry<2> geometry = testing::centredGeometry<2>({values.size(), 1}, {1, 1});
    writeStoredImage<2>(folder / (name + ".mha"), geometry, type, 1, std::as_bytes(std::span(values)), false,
                        1);
    return {"--" + name, folder / (name + ".mha")};
  }

  static std::vector<std::int64_t> labelsOf(const LabelPair<2>& pair, const Image<2>& image)
  {
    std::vector<std::int64_t> labels;
    for (const float voxel : image.voxels)
      labels.push_back(pair.label(static_cast<int>(voxel)));
    return labels;
  }

  TemporaryFolder folder;
};

TEST_F(LabelPairTest, LabelsThatFloatCannotHoldAreExactInBothMaps)
{
  const LabelPair<2> pair =
      readLabelPair<2>(write<std::uint32_t>("a", PixelType::uint32, {0, allen, allen + 1, 997}),
                       write<std::int64_t>("b", PixelType::int64, {allen + 1, -3, beyondDouble, 0}), {}, 1);

  EXPECT_EQ(labelsOf(pair, *pair.first), (std::vector<std::int64_t>{0, allen, allen + 1, 997}));
  EXPECT_EQ(labelsOf(pair, *pair.second), (std::vector<std::int64_t>{allen + 1, -3, beyondDouble, 0}));
  EXPECT_EQ(pair.first->voxels[2], pair.second->voxels[0]) << "one number for one label";
  EXPECT_EQ(pair.first->voxels[0], 0) << "0 is the label 0";
  EXPECT_EQ(pair.second->voxels[3], 0);
}

TEST_F(LabelPairTest, LargeLabelsThatFloatHoldsAreExactToo)
{
  const std::int64_t power = std::int64_t(1) << 40;
  const LabelPair<2> pair =
      readLabelPair<2>(write<float>("a", PixelType::float32, {1.f, 1e12f}),
                       write<std::int64_t>("b", PixelType::int64, {power, -power}), {}, 1);

  EXPECT_EQ(labelsOf(pair, *pair.first), (std::vector<std::int64_t>{1, static_cast<std::int64_t>(1e12f)}));
  EXPECT_EQ(labelsOf(pair, *pair.second), (std::vector<std::int64_t>{power, -power}));
}

TEST_F(LabelPairTest, SmallLabelsAreTheirOwnNumbersAndNaNIsZero)
{
  const LabelPair<2> pair = readLabelPair<2>(write<double>("a", PixelType::float64, {7, nan, -2}),
                                             write<std::uint8_t>("b", PixelType::uint8, {255, 0, 7}), {}, 1);

  EXPECT_TRUE(pair.labels.empty());
  EXPECT_EQ(pair.first->voxels, (std::vector<float>{7, 0, -2}));
  EXPECT_EQ(pair.second->voxels, (std::vector<float>{255, 0, 7}));
}

TEST_F(LabelPairTest, WhatIsNoWholeNumberOf64BitsIsRefusedAsItStands)
{
  const LabelFile whole = write<std::uint8_t>("whole", PixelType::uint8, {1, 2});
  const auto refused = [&](const LabelFile& file, const std::string& number) {
    const std::string text =
        testing::errorText([&] { readLabelPair<2>(whole, file, {}, 1); }, ExitCode::unreadableInput);
    EXPECT_EQ(text, file.option + ": " + file.path + ": " + number + " is no label. Allowed: " + allowedLabels
                        + ".");
  };
  refused(write<float>("half", PixelType::float32, {1, 1.5}), "1.5");
  refused(write<double>("tenth", PixelType::float64, {0.1, allen}), "0.1");
  refused(write<double>("large", PixelType::float64, {1e19}), "1e+19");
  refused(write<std::uint64_t>("unsigned", PixelType::uint64, {std::uint64_t(1) << 63}),
          "9223372036854775808");
}

}
}
