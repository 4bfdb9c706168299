#include "Core/Image/Slices/SliceWindow.h"

#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

namespace tessera {
namespace {

using testing::TemporaryFolder;

constexpr std::size_t ofSlice = 6 * 5, all = 20;

class SliceWindowTest : public ::testing::Test {
protected:
  /// Voxel v of component c is 1000 c + v, more by `more`; those of `nan` are no number in the last
  /// component.
  std::string write(const std::string& name, int components, float more = 0, std::size_t nan = all * ofSlice)
  {
    std::vector<float> values(all * ofSlice * static_cast<std::size_t>(components));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(1000 * (i % static_cast<std::size_t>(components))
                                     + i / static_cast<std::size_t>(components))
                  + more;
    if (nan < all * ofSlice)
      values[(nan + 1) * static_cast<std::size_t>(components) - 1] = NAN;
    writeVectorImage<3>(folder / name, {grid, components, values}, false);
    return folder / name;
  }

  static void expectSlices(const SliceWindow<3>& window, std::size_t first, std::size_t count,
                           std::size_t components)
  {
    for (std::size_t c = 0; c < components; ++c) {
      const ImageSlices<3> slices = window.image(c);
      EXPECT_EQ(slices.first, first);
      EXPECT_EQ(slices.count, count);
      for (std::size_t v = first * ofSlice; v < (first + count) * ofSlice; ++v)
        ASSERT_EQ(slices.wholeImage()[v], static_cast<float>(1000 * c + v)) << first;
    }
  }

  TemporaryFolder folder;
  ImageGeometry<3> grid = testing::obliqueGeometry<3>({6, 5, all});
};

TEST_F(SliceWindowTest, HasTheSlicesThatAreAskedForWhicheverCameBefore)
{
  for (const std::size_t components : {1, 3})
    for (const std::string name : {"a.mha", "a.nii.gz"}) {
      SliceReader<3> reader(write(name, static_cast<int>(components)), {}, VoxelsAs::intensities);
      reader.survey(1);
      SliceWindow<3> window(reader, grid, 7);
      const std::size_t moves[][2] = {{0, 3},  {1, 4},  {3, 7}, {4, 2}, {12, 5}, {17, 3},
                                      {13, 7}, {11, 4}, {2, 3}, {2, 3}, {0, 7},  {3, 1}};
      for (const auto& [first, count] : moves) {
        window.moveTo(first, count, 2);
        expectSlices(window, first, count, components);
      }
      EXPECT_EQ(window.finite(), nullptr);
      EXPECT_THROW(window.moveTo(0, 8, 1), std::logic_error);
    }
}

TEST_F(SliceWindowTest, DoesNotReadAgainWhatItHas)
{
  SliceReader<3> reader(write("a.mha", 1), {}, VoxelsAs::intensities);
  reader.survey(1);
  SliceWindow<3> window(reader, grid, 6);
  window.moveTo(5, 5, 1);
  write("b.mha", 1, 0.5f); // the same file with other values
  std::filesystem::copy_file(folder / "b.mha", folder / "a.mha",
                             std::filesystem::copy_options::overwrite_existing);
  const auto isNew = [&](std::size_t slice) {
    const float value = window.image(0).wholeImage()[slice * ofSlice];
    return value != static_cast<float>(slice * ofSlice);
  };

  window.moveTo(7, 6, 1); // 7, 8 and 9 stay
  EXPECT_FALSE(isNew(7) || isNew(8) || isNew(9));
  EXPECT_TRUE(isNew(10) && isNew(11) && isNew(12));
  window.moveTo(4, 5, 1); // 7 and 8 stay
  EXPECT_FALSE(isNew(7) || isNew(8));
  EXPECT_TRUE(isNew(4) && isNew(5) && isNew(6));
}

TEST_F(SliceWindowTest, NumbersTheLabelsOfTheSlicesThatAreThere)
{
  std::vector<std::int32_t> labels(all * ofSlice);
  for (std::size_t v = 0; v < labels.size(); ++v)
    labels[v] = 20000001
                + static_cast<std::int32_t>((all - v / ofSlice) * 3
                                            + v % 2); // other ones in each slice, as floats the same
  for (const std::string name : {"l.mha", "l.nii.gz"}) {
    writeStoredImage<3>(folder / name, grid, PixelType::int32, 1, std::as_bytes(std::span(labels)), true, 1);
    SliceReader<3> reader(folder / name, {}, VoxelsAs::labels, 3);
    reader.survey(1);
    ASSERT_TRUE(reader.isNumbered());
    EXPECT_EQ(SliceWindow<3>::sliceBytes(reader),
              ofSlice * 12.0); // a float, what is stored, and its place in the table
    SliceWindow<3> window(reader, grid, 7);
    const std::size_t moves[][2] = {{0, 3}, {1, 4}, {3, 7}, {4, 2}, {12, 5}, {13, 7}, {11, 4}, {0, 7}};
    for (const auto& [first, count] : moves) {
      window.moveTo(first, count, 2);
      const std::span<const float> numbers(window.image(0).voxels, count * ofSlice);
      std::vector<std::int32_t> decoded(numbers.size());
      reader.labels()->decode(numbers, std::as_writable_bytes(std::span(decoded)).data(), 1);
      for (std::size_t v = 0; v < decoded.size(); ++v)
        ASSERT_EQ(decoded[v], labels[first * ofSlice + v]) << name << ", slice " << first << ", " << v;
      EXPECT_EQ(*std::max_element(numbers.begin(), numbers.end()),
                2 * count); // as many labels, and one number for outside
    }
  }
}

TEST_F(SliceWindowTest, MasksWhatIsNoNumberInTheSlicesThatAreThere)
{
  constexpr std::size_t nan = 9 * ofSlice + 13;
  for (const int components : {1, 2}) {
    SliceReader<3> reader(write("n.mha", components, 0, nan), {}, VoxelsAs::intensities);
    reader.survey(1);
    ASSERT_EQ(reader.nonFiniteVoxels(), 1u);
    SliceWindow<3> window(reader, grid, 5);
    const AffineMap<3> pointFromIndex = grid.pointFromIndex();
    for (const std::size_t first : {5, 7, 9, 6}) {
      window.moveTo(first, 5, 2);
      ASSERT_TRUE(window.finite());
      for (std::size_t v = first * ofSlice; v < (first + 5) * ofSlice; ++v) {
        const Vec<3> index{static_cast<double>(v % 6), static_cast<double>(v / 6 % 5),
                           static_cast<double>(v / ofSlice)};
        ASSERT_EQ(window.finite()->contains(pointFromIndex(index)), v != nan) << v;
      }
      EXPECT_FALSE(window.finite()->contains(pointFromIndex({-0.6, 0, static_cast<double>(first)})));
      EXPECT_FALSE(window.finite()->contains(pointFromIndex({0, 4.6, static_cast<double>(first)})));
      EXPECT_EQ(window.image(components - 1).wholeImage()[nan], 0);
    }
  }
}

}
}
