// needs: ITK
#include "Core/Image/Voxels/VoxelPlace.h"

#include "Testing/Support/Files/ItkFiles.h"
#include "Testing/Support/Files/PlaceOf.h"
#include "Testing/Support/Files/StoredImages.h"
#include "Testing/Support/Scenes/ScaledNifti.h"

#include <algorithm>
#include <cstring>

#include <zlib.h>

namespace tessera {
namespace {

using namespace testing;

std::string gzipped(const std::string& text)
{
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

using VoxelPlaceTest = StoredNoise;

TEST_F(VoxelPlaceTest, FilesOfItkGiveTheirVoxelsOnAnyNumberOfThreads)
{
  for (const std::string name : {"a.nii", "a.nii.gz", "a.mha", "a.mhd", "a.nrrd"})
    for (const bool compress : {false, true}) {
      SCOPED_TRACE(name + (compress ? ", compressed" : ""));
      writeByItk<short>(folder / name, image.geometry, 1, shorts, compress);
      writeByItk<float>(folder / ("float." + name), image.geometry, 1, image.voxels, compress);
      ASSERT_TRUE(testing::placeOf(folder / name)); // not left to ITK
      for (const int threads : {1, 3}) {
        EXPECT_EQ(loadedImage<3>(folder / name, threads).image.voxels == image.voxels, true);
        EXPECT_EQ(loadedImage<3>(folder / ("float." + name), threads).image.voxels == image.voxels, true);
      }
    }
}

TEST_F(VoxelPlaceTest, OwnCompressedFilesGiveTheirVoxelsOnAnyNumberOfThreads)
{
  for (const std::string name : {"a.nii.gz", "a.mha", "a.nrrd"})
    for (const PixelType type : {PixelType::int16, PixelType::float32, PixelType::float64}) {
      SCOPED_TRACE(name + ", " + pixelTypeName(type));
      writeImage(folder / name, image, type, true, 2);
      for (const int threads : {1, 3})
        EXPECT_EQ(loadedImage<3>(folder / name, threads).image.voxels == image.voxels, true);
    }
}

/// The values that readImage returns.
template <class T>
std::vector<float> numbersOfItk(const std::string& path)
{
  const std::vector<T> values = testing::readByItk<T>(path);
  std::vector<float> numbers(values.size());
  std::transform(values.begin(), values.end(), numbers.begin(), [](T value) {
    const auto number = static_cast<float>(value);
    return std::isfinite(number) ? number : 0;
  });
  return numbers;
}

TEST_F(VoxelPlaceTest, ScaledNumbersHaveTheBitsOfItk)
{
  const auto expectItks = [&](PixelType type, const testing::SlopeAndIntercept& scaling) {
    SCOPED_TRACE(pixelTypeName(type) + " by " + std::to_string(scaling.slope) + " and "
                 + std::to_string(scaling.intercept));
    const std::string path = testing::writeScaled(folder, "a.nii", "s.nii", scaling);
    ASSERT_TRUE(testing::placeOf(path)); // not left to ITK
    EXPECT_TRUE(testing::placeOf(path)->scaling.isScaled());
    const std::vector<float> expected =
        type == PixelType::float64 ? numbersOfItk<double>(path) : numbersOfItk<float>(path);
    for (const int threads : {1, 3})
      EXPECT_EQ(loadedImage<3>(path, threads).image.voxels == expected, true);
    folder.write("z.nii.gz", gzipped(folder.read("s.nii")));
    EXPECT_EQ(loadedImage<3>(folder / "z.nii.gz", 3).image.voxels == expected, true);
  };
  writeImage(folder / "a.nii", image, PixelType::int16, false); // several pieces
  expectItks(PixelType::int16, {0.1f, -10.3f});
  Image<3> few = testing::noiseImage<3>(testing::obliqueGeometry<3>({7, 6, 5}), 3);
  for (float& value : few.voxels)
    value = (value - 100) * 3e7f; // of both signs, and beyond what floats hold of whole numbers
  few.voxels[0] = 0;              // by any scale a number
  for (const PixelType type : allPixelTypes) {
    writeImage(folder / "a.nii", few, type, false);
    for (const testing::SlopeAndIntercept& scaling : testing::scalings)
      expectItks(type, scaling);
  }
}

template <int D>
void expectItksVectors(const TemporaryFolder& folder, const ImageGeometry<D>& geometry, int components)
{
  std::vector<float> values(geometry.voxelCount() * components);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 30011) - 7;
  const std::vector<short> shorts(values.begin(), values.end());
  for (const std::string name : {"v.nii", "v.nii.gz"})
    for (const bool isOurs : {false, true}) {
      SCOPED_TRACE(name + ", components " + std::to_string(components) + ", axes " + std::to_string(D));
      if (isOurs)
        writeVectorImage<D>(folder / name, {geometry, components, values}, true, 2);
      else
        writeByItk<float>(folder / name, geometry, components, values, true);
      writeByItk<short>(folder / ("short." + name), geometry, components, shorts, true);
      ASSERT_TRUE(testing::placeOf(folder / name)->apart);

      const VectorImage<D> read = readVectorImage<D>(folder / name, {}, 3);
      EXPECT_EQ(read.components, components);
      EXPECT_EQ(read.voxels == values, true);
      EXPECT_EQ(testing::readByItk<float>(folder / name) == values, true);
      EXPECT_EQ(readVectorImage<D>(folder / ("short." + name), {}, 1).voxels == values, true);
    }
}

TEST_F(VoxelPlaceTest, VectorsOfNiftiAreThoseOfItk)
{
  expectItksVectors<3>(folder, testing::obliqueGeometry<3>({61, 47, 43}),
                       3); // 1.5 MB: pieces and blocks hold ends of components
  expectItksVectors<3>(folder, testing::obliqueGeometry<3>({5, 4, 3}), 2);
  expectItksVectors<2>(folder, testing::obliqueGeometry<2>({7, 5}), 2);
  expectItksVectors<2>(folder, testing::obliqueGeometry<2>({7, 5}), 4);
}

/// NIFTI_INTENT_DISPVECT, which the standard has in coordinates to the right, to the front and up.
TEST_F(VoxelPlaceTest, NiftiDisplacementsAreTurnedFromRas)
{
  const ImageGeometry<3> geometry = testing::obliqueGeometry<3>({3, 4, 5});
  VectorImage<3> field{geometry, 3, std::vector<float>(180)};
  for (std::size_t i = 0; i < field.voxels.size(); ++i)
    field.voxels[i] = static_cast<float>(i) + 1;
  const auto withIntent = [&](const std::string& name, std::int16_t code, auto&& write) {
    write(folder / name);
    std::string bytes = folder.read(name);
    std::memcpy(bytes.data() + 68, &code, sizeof code);
    return folder.write(name, bytes);
  };
  const auto writeField = [&](const std::string& path) { writeVectorImage(path, field, false); };

  const VectorImage<3> read = readVectorImage<3>(withIntent("field.nii", 1006, writeField), {});

  EXPECT_EQ(read.components, 3);
  EXPECT_EQ(read.geometry.size, geometry.size);
  const VectorImage<3> plain = readVectorImage<3>(withIntent("vectors.nii", 1007, writeField), {});
  EXPECT_EQ(plain.voxels, field.voxels);
  EXPECT_EQ(read.geometry.spacingMm, plain.geometry.spacingMm);
  EXPECT_EQ(read.geometry.originMm, plain.geometry.originMm);
  EXPECT_EQ(read.geometry.direction, plain.geometry.direction);
  for (std::size_t i = 0; i < field.voxels.size(); ++i)
    EXPECT_EQ(read.voxels[i], i % 3 < 2 ? -field.voxels[i] : field.voxels[i]) << i;

  const VectorImage<2> plane{
      testing::obliqueGeometry<2>({3, 4}), 2, {field.voxels.begin(), field.voxels.begin() + 24}};
  const std::string two =
      withIntent("two.nii", 1006, [&](const std::string& path) { writeVectorImage(path, plane, false); });
  EXPECT_EQ(readVectorImage<2>(two, {}).voxels,
            plane.voxels); // ITK 5.4 turns those of three components alone
}

TEST_F(VoxelPlaceTest, WhatOnlyItsLibraryReadsIsLeftToIt)
{
  writeByItk<short>(folder / "a.nii", image.geometry, 1, shorts, false);
  writeImage(folder / "pair.hdr", image, PixelType::int16, false);
  EXPECT_FALSE(testing::placeOf(folder / "pair.hdr"));
  const std::string head = "ObjectType = Image\nNDims = 2\nDimSize = 2 1\nElementType = MET_SHORT\n";
  folder.write("a.raw", std::string(48, 'v'));
  EXPECT_FALSE(testing::placeOf(folder.write("list.mhd", head + "ElementDataFile = LIST\na.raw\nb.raw\n")));
  EXPECT_FALSE(
      testing::placeOf(folder.write("offset.mhd", head + "HeaderSize = -1\nElementDataFile = a.raw\n")));
  EXPECT_FALSE(testing::placeOf(
      folder.write("text.mha", head + "BinaryData = False\nElementDataFile = LOCAL\n1 2\n")));
  EXPECT_TRUE(testing::placeOf(folder.write("plain.mhd", head + "ElementDataFile = a.raw\n")));
}

TEST_F(VoxelPlaceTest, NrrdVectorsAreThoseOfItk)
{
  const ImageGeometry<3> geometry = testing::obliqueGeometry<3>({5, 4, 3});
  std::vector<float> values(180);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  for (const bool compress : {false, true}) {
    writeByItk<float>(folder / "a.nrrd", geometry, 3, values, compress);
    ASSERT_TRUE(testing::placeOf(folder / "a.nrrd"));
    EXPECT_EQ(readVectorImage<3>(folder / "a.nrrd", {}).voxels, values);
  }
  const std::string head =
      "NRRD0005\ntype: short\ndimension: 3\nsizes: 2 3 4\nendian: little\nencoding: raw\n";
  folder.write("a.raw", std::string(48, 'v'));
  EXPECT_TRUE(testing::placeOf(folder.write(
      "a.nhdr", head + "space: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,1)\ndata file: a.raw\n")));
  EXPECT_TRUE(
      testing::placeOf(folder.write("a.nhdr", head + "kinds: vector space space\ndata file: a.raw\n")));
  for (const std::string other :
       {"kinds: domain domain list\ndata file: a.raw\n", "byte skip: 4\ndata file: a.raw\n",
        "line skip: 1\ndata file: a.raw\n", "data file: a%d.raw 0 3 1\n", "data file: LIST\na.raw\n"})
    EXPECT_FALSE(testing::placeOf(folder.write("a.nhdr", head + other))) << other; // left to its library
}

TEST_F(VoxelPlaceTest, IntegersThatFloatRoundsAreCounted)
{
  std::vector<int> numbers(image.voxels.size(), 1 << 30);
  numbers[3] = (1 << 24) + 1;
  numbers[4] = -(1 << 24) - 1;
  numbers[5] = (1 << 24) + 2;
  writeByItk<int>(folder / "a.mha", image.geometry, 1, numbers, false);

  std::vector<std::string> notes;
  readImage<3>(folder / "a.mha", {}, notes, 2);

  EXPECT_EQ(notes, std::vector<std::string>{folder / "a.mha"
                                            + ": 2 whole numbers above 2^24 are rounded to single precision; "
                                              "label maps keep theirs (tessera-transform --labels)"});
}

}
}
