// needs: ITK
#include "Core/Image/Slices/SliceReader.h"

#include "Core/Image/Voxels/LabelImage.h"
#include "Core/Image/Voxels/PixelRounding.h"
#include "Testing/Support/Files/ItkFiles.h"
#include "Testing/Support/Files/StoredImages.h"
#include "Testing/Support/Scenes/ScaledNifti.h"

#include <cmath>
#include <cstring>

namespace tessera {
namespace {

using namespace testing;

/// Some slices of a file, by a reader that has surveyed it.
template <int D>
struct ReadSlices {
  std::vector<std::vector<float>> images;
  std::vector<std::uint8_t> finite;

  ReadSlices(SliceReader<D>& reader, std::size_t first, std::size_t count, int threads)
  {
    const std::size_t voxels = reader.geometry().voxelCount() / reader.geometry().size[D - 1] * count;
    images.assign(reader.imageCount(), std::vector<float>(voxels, -12345.0f));
    finite.assign(voxels, 1); // as they are if all are finite
    if (reader.isNumbered()) {
      const std::size_t ofSlice = voxels / count;
      std::vector<double> stored(voxels); // no type is larger
      const auto bytes = std::as_writable_bytes(std::span(stored));
      reader.readStored(first * ofSlice, voxels, bytes.data(), threads);
      reader.number(bytes.data(), voxels, images[0].data(), finite.data(), threads);
      return;
    }
    std::vector<float*> to;
    for (std::vector<float>& image : images)
      to.push_back(image.data());
    reader.read(first, count, to, finite.data(), threads);
  }
};

template <int D>
SliceReader<D> surveyed(const std::string& path, VoxelsAs as = VoxelsAs::intensities, double outside = 0)
{
  SliceReader<D> reader(path, {}, as, outside);
  EXPECT_EQ(reader.whyNot(), "") << path;
  reader.survey(2);
  return reader;
}

constexpr std::size_t ranges[][2] = {{0, 1}, {2, 3}, {4, 1}, {0, 5}};

/// Compares the slices with the whole image.
template <int D>
void expectSlices(SliceReader<D>& reader, const std::vector<std::vector<float>>& images,
                  const MaskPointer<D>& finite)
{
  const std::size_t ofSlice = reader.geometry().voxelCount() / reader.geometry().size[D - 1];
  for (const auto& [first, count] : ranges)
    for (const int threads : {1, 3}) {
      const ReadSlices<D> slices(reader, first, count, threads);
      for (std::size_t i = 0; i < images.size(); ++i)
        EXPECT_EQ(std::equal(slices.images[i].begin(), slices.images[i].end(),
                             images[i].begin() + static_cast<std::ptrdiff_t>(first * ofSlice)),
                  true)
            << "slice " << first << ", image " << i;
      for (std::size_t v = 0; v < slices.finite.size(); ++v)
        ASSERT_EQ(slices.finite[v], finite ? finite->voxels[first * ofSlice + v] : 1) << v;
    }
  reader.finish(2);
}

/// Compares with the result of readImage, notes included.
void expectTheWhole(const std::string& path)
{
  SCOPED_TRACE(path);
  std::vector<std::string> notes;
  const LoadedImage<3> whole = readImage<3>(path, {}, notes);
  SliceReader<3> reader = surveyed<3>(path);
  EXPECT_EQ(reader.geometry(), whole.image.geometry);
  EXPECT_EQ(reader.notes(), notes);
  EXPECT_EQ(reader.nonFiniteVoxels(), whole.nanVoxels);
  EXPECT_FALSE(reader.labels());
  ASSERT_EQ(reader.imageCount(), 1u);
  expectSlices<3>(reader, {whole.image.voxels}, whole.finiteVoxels);
}

class SliceReaderTest : public ::testing::Test {
protected:
  std::string path(const std::string& name) const { return folder / name; }

  TemporaryFolder folder;
  ImageGeometry<3> grid = testing::obliqueGeometry<3>({7, 6, 5});
  Image<3> image = testing::noiseImage<3>(grid, 3);
};

TEST_F(SliceReaderTest, EveryPixelTypeOfEveryFormat)
{
  for (const PixelType type : allPixelTypes)
    for (const std::string name : {"a.mha", "a.mhd", "a.nrrd", "a.nii", "a.nii.gz"})
      for (const bool compress : {false, true}) {
        writeImage(path(name), image, type, compress);
        expectTheWhole(path(name));
      }
}

TEST_F(SliceReaderTest, EveryPixelTypeScaled)
{
  for (float& voxel : image.voxels)
    voxel = std::floor(voxel - 100) * 3e7f;
  image.voxels[0] = 0;
  for (const PixelType type : allPixelTypes) {
    writeImage(path("a.nii"), image, type, false);
    for (const testing::SlopeAndIntercept& scaling : testing::scalings)
      expectTheWhole(testing::writeScaled(folder, "a.nii", "s.nii", scaling));
  }
}

TEST_F(SliceReaderTest, ScaledNumbersAreLookedThroughFirstOnlyWhereThatMayTellAnything)
{
  const auto needsCounts = [&](PixelType type, const testing::SlopeAndIntercept& scaling) {
    writeImage(path("a.nii"), image, type, false);
    return SliceReader<3>(testing::writeScaled(folder, "a.nii", "s.nii", scaling), {}, VoxelsAs::intensities)
        .needsCounts();
  };
  EXPECT_FALSE(needsCounts(PixelType::int16, {0.1f, -10}));
  EXPECT_TRUE(needsCounts(PixelType::int16, {3e38f, 0})); // beyond floats
  EXPECT_FALSE(needsCounts(PixelType::int32, {0.1f, -10}));
  EXPECT_TRUE(needsCounts(PixelType::int32, {1, 0}));
  EXPECT_TRUE(needsCounts(PixelType::float32, {0.1f, -10}));
}

TEST_F(SliceReaderTest, ValuesThatAreNoNumbersAndThoseThatFloatsRound)
{
  std::vector<double> values(grid.voxelCount());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 11 == 3   ? NAN
                : i % 13 == 4 ? -INFINITY
                : i % 17 == 5 ? 1e300
                              : 0.1 * static_cast<double>(i); // 1e300 is no float
  testing::writeByItk<double>(path("d.mha"), grid, 1, values, true);
  expectTheWhole(path("d.mha"));
  const std::vector<float> floats(values.begin(), values.end());
  testing::writeByItk<float>(path("f.nii"), grid, 1, floats, false);
  expectTheWhole(path("f.nii"));
  std::vector<int> whole(grid.voxelCount(), 16777217);
  whole[5] = 3;
  testing::writeByItk<int>(path("i.nrrd"), grid, 1, whole, false);
  expectTheWhole(path("i.nrrd"));
}

TEST_F(SliceReaderTest, AnImageOfNoNumbersIsAnErrorOfTheSameWords)
{
  testing::writeByItk<float>(path("n.mha"), grid, 1, std::vector<float>(grid.voxelCount(), NAN), false);
  SliceReader<3> reader(path("n.mha"), {}, VoxelsAs::intensities);

  EXPECT_EQ(errorText([&] { reader.survey(2); }, ExitCode::unreadableInput),
            errorText([&] { testing::loadedImage<3>(path("n.mha")); }, ExitCode::unreadableInput));
}

TEST_F(SliceReaderTest, ComponentsAreImagesOfTheirOwn)
{
  for (const int components : {2, 3, 5})
    for (const std::string name : {"v.mha", "v.nrrd", "v.nii", "v.nii.gz"})
      for (const bool isOurs : {false, true}) {
        SCOPED_TRACE(name + " of " + std::to_string(components) + (isOurs ? ", ours" : ""));
        std::vector<float> values(grid.voxelCount() * static_cast<std::size_t>(components));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = i % 19 == 7 ? NAN : static_cast<float>(i);
        if (isOurs)
          writeVectorImage<3>(path(name), {grid, components, values}, true);
        else
          testing::writeByItk<float>(path(name), grid, components, values, true);
        std::vector<std::vector<float>> images(static_cast<std::size_t>(components));
        std::vector<std::uint8_t> finite(grid.voxelCount(), 1);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const bool isFinite = std::isfinite(values[i]);
          images[i % images.size()].push_back(isFinite ? values[i] : 0);
          finite[i / images.size()] = finite[i / images.size()] && isFinite;
        }
        SliceReader<3> reader = surveyed<3>(path(name));
        ASSERT_EQ(reader.imageCount(), images.size());
        EXPECT_EQ(reader.nonFiniteVoxels(),
                  static_cast<std::size_t>(std::count(finite.begin(), finite.end(), 0)));
        expectSlices<3>(reader, images, std::make_shared<Mask<3>>(grid, finite));
      }
}

/// NIFTI_INTENT_DISPVECT is turned, as readVectorImage does.
TEST_F(SliceReaderTest, DisplacementsOfNifti)
{
  VectorImage<3> field{grid, 3, std::vector<float>(3 * grid.voxelCount())};
  for (std::size_t i = 0; i < field.voxels.size(); ++i)
    field.voxels[i] = static_cast<float>(i) + 1;
  writeVectorImage(path("field.nii"), field, false);
  std::string bytes = folder.read("field.nii");
  const std::int16_t code = 1006;
  std::memcpy(bytes.data() + 68, &code, sizeof code);
  folder.write("field.nii", bytes);
  const VectorImage<3> whole = readVectorImage<3>(path("field.nii"), {});
  ASSERT_EQ(whole.voxels[0], -1);
  std::vector<std::vector<float>> images(3);
  for (std::size_t i = 0; i < whole.voxels.size(); ++i)
    images[i % 3].push_back(whole.voxels[i]);

  SliceReader<3> reader = surveyed<3>(path("field.nii"));

  ASSERT_EQ(reader.imageCount(), 3u);
  expectSlices<3>(reader, images, nullptr);
}

TEST_F(SliceReaderTest, ColourIsLuminanceWhereverItsComponentsLie)
{
  for (const int components : {3, 4})
    for (const std::string name : {"c.mha", "c.nrrd", "c.nii"}) {
      std::vector<unsigned char> values(grid.voxelCount() * static_cast<std::size_t>(components));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<unsigned char>(i * 37 % 251);
      testing::writeByItk<unsigned char>(path(name), grid, components, values, false);
      expectTheWhole(path(name));
    }
}

/// Reads from any voxel on, across slices and pieces of files.
TEST_F(SliceReaderTest, StoredVoxelsAreThoseOfTheFile)
{
  for (const int components : {1, 3})
    for (const std::string name : {"s.mha", "s.nii", "s.nii.gz"}) {
      const auto count = static_cast<std::size_t>(components);
      std::vector<short> values(grid.voxelCount() * count);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<short>(i * 91 % 40000 - 20000);
      testing::writeByItk<short>(path(name), grid, components, values, true);
      SliceReader<3> reader(path(name), {}, VoxelsAs::intensities);
      for (const auto& [first, length] :
           {std::pair<std::size_t, std::size_t>{0, 210}, {41, 43}, {0, 1}, {209, 1}, {5, 200}}) {
        std::vector<short> stored(length * count);
        reader.readStored(first, length, reinterpret_cast<std::byte*>(stored.data()), 2);
        const StoredVoxels<short> voxels{stored.data(), reader.layout(length)};
        for (std::size_t i = 0; i < length; ++i)
          for (std::size_t c = 0; c < count; ++c)
            ASSERT_EQ(voxels.intensity(c, i), values[(first + i) * count + c])
                << name << ", " << first << " + " << i;
      }
      reader.finish(2);
    }
}

/// Compares the labels of each slice with those of the whole map.
template <class T>
void expectLabels(const std::string& path, const ImageGeometry<3>& grid, const std::vector<T>& values,
                  double outside, bool numbered)
{
  const LabelImage<3> whole = readLabelImage<3>(path, {}, outside, 1);
  SliceReader<3> reader = surveyed<3>(path, VoxelsAs::labels, outside);
  ASSERT_TRUE(reader.labels());
  EXPECT_EQ(reader.labels()->isNumbered(), numbered);
  EXPECT_EQ(whole.table.isNumbered(), numbered);
  EXPECT_EQ(reader.notes(), std::vector<std::string>{});
  EXPECT_EQ(reader.nonFiniteVoxels(), whole.loaded.nanVoxels);
  if (!numbered)
    return expectSlices<3>(reader, {whole.loaded.image.voxels}, whole.loaded.finiteVoxels);
  const std::size_t ofSlice = grid.voxelCount() / grid.size[2];
  for (const auto& [first, count] : ranges) { // each with the numbers of its own labels
    const ReadSlices<3> slices(reader, first, count, 3);
    std::vector<T> decoded(count * ofSlice);
    reader.labels()->decode(slices.images[0], reinterpret_cast<std::byte*>(decoded.data()), 2);
    for (std::size_t v = 0; v < decoded.size(); ++v) {
      const T value = values[first * ofSlice + v];
      const bool isFinite = std::isfinite(static_cast<double>(value));
      ASSERT_EQ(slices.finite[v], isFinite) << v;
      if (isFinite) {
        ASSERT_EQ(decoded[v], value) << v;
      }
    }
  }
  reader.finish(2);
}

template <class T>
std::vector<T> repeated(const ImageGeometry<3>& grid, const std::vector<T>& few)
{
  std::vector<T> values(grid.voxelCount());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = few[i / 3 % few.size()];
  return values;
}

template <class T>
void expectLabels(const TemporaryFolder& folder, const ImageGeometry<3>& grid, const std::vector<T>& few,
                  double outside, bool numbered)
{
  const std::vector<T> values = repeated(grid, few);
  testing::writeByItk<T>(folder / "l.mha", grid, 1, values, true);
  expectLabels<T>(folder / "l.mha", grid, values, outside, numbered);
}

/// `stored` by 0.5 and 1.
template <class T>
void expectScaledLabels(const TemporaryFolder& folder, const ImageGeometry<3>& grid,
                        const std::vector<T>& stored, bool numbered)
{
  using Label = ValueScaling::Value<T>;
  std::vector<Label> labels;
  for (const T number : stored)
    labels.push_back(static_cast<Label>(number) / 2 + 1);
  testing::writeByItk<T>(folder / "l.nii", grid, 1, repeated(grid, stored), false);
  expectLabels<Label>(testing::writeScaled(folder, "l.nii", "s.nii", {0.5f, 1}), grid, repeated(grid, labels),
                      0, numbered);
}

TEST_F(SliceReaderTest, ScaledLabelsAreThoseOfTheWholeMap)
{
  expectScaledLabels<unsigned char>(folder, grid, {4, 0, 6}, false);
  expectScaledLabels<int>(folder, grid, {16777218, -4},
                          false); // floats, as all whole numbers that are scaled
  expectScaledLabels<float>(folder, grid, {2, NAN, 6}, false);
  expectScaledLabels<double>(folder, grid, {2, 1e300, 4, NAN, INFINITY}, true);
}

TEST_F(SliceReaderTest, LabelsAreThoseOfTheWholeMap)
{
  expectLabels<unsigned char>(folder, grid, {3, 0, 7}, 0, false);
  expectLabels<int>(folder, grid, {3, -1, 16777216}, 0, false);
  expectLabels<int>(folder, grid, {16777217, 16777219, -5}, 1, true);
  expectLabels<std::int64_t>(folder, grid, {std::int64_t(1) << 60, (std::int64_t(1) << 60) + 1, 2}, -7, true);
  expectLabels<float>(folder, grid, {1, NAN, 2}, 0, false);
  expectLabels<double>(folder, grid, {7, 1e300, 5, NAN, INFINITY}, 0,
                       true); // 1e300 is a label, though no float
}

TEST_F(SliceReaderTest, WhatCannotBeSoIsToldInTheWordsOfTheWhole)
{
  writeVectorImage<3>(path("v.mha"), {grid, 2, std::vector<float>(2 * grid.voxelCount())}, false);
  EXPECT_EQ(
      errorText([&] { SliceReader<3>(path("v.mha"), {}, VoxelsAs::labels); }, ExitCode::unreadableInput),
      errorText([&] { readLabelImage<3>(path("v.mha"), {}, 0, 1); }, ExitCode::unreadableInput));
  EXPECT_PRED2(contains, errorText([&] { SliceReader<2>(path("v.mha"), {}, VoxelsAs::intensities); }),
               "dimension 3");
  EXPECT_PRED2(contains,
               errorText([&] { SliceReader<3>(path("no.mha"), {}, VoxelsAs::intensities); },
                         ExitCode::unreadableInput),
               "no such file");
}

TEST_F(SliceReaderTest, FilesThatOnlyLibrariesReadAreReadAsAWhole)
{
  writeImage(path("a.vtk"), image, PixelType::int16, false);
  EXPECT_PRED2(contains, SliceReader<3>(path("a.vtk"), {}, VoxelsAs::intensities).whyNot(),
               "files of this kind are read as a whole");
  writeImage(path("a.nii"), image, PixelType::int16, false);
  EXPECT_EQ(SliceReader<3>(path("a.nii"), {}, VoxelsAs::intensities).whyNot(), "");
  EXPECT_EQ(
      SliceReader<3>(testing::writeScaled(folder, "a.nii", "s.nii", {2, -10}), {}, VoxelsAs::intensities)
          .whyNot(),
      "");
}

}
}
