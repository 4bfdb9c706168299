// needs: ITK
#include "Core/Image/VoxelPlace.h"

#include "Core/Image/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ItkFiles.h"
#include "Testing/Support/NoiseImage.h"
#include "Testing/Support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <zlib.h>

namespace tessera {
namespace {

using testing::TemporaryFolder;
using testing::writeByItk;

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

void swapNumbers(std::string& bytes, std::size_t first, std::size_t last, std::size_t size)
{
  for (std::size_t i = first; i < last; i += size)
    std::reverse(bytes.begin() + i, bytes.begin() + i + size);
}

class VoxelPlaceTest : public ::testing::Test {
protected:
  VoxelPlaceTest()
  {
    for (float& value : image.voxels)
      value = std::floor(value);
    shorts.assign(image.voxels.begin(), image.voxels.end());
  }

  std::vector<float> load(const std::string& path, int threads = 1)
  {
    std::vector<std::string> notes;
    return readImage<3>(path, notes, threads).image.voxels;
  }

  /// A NIfTI of the shorts, its header and its voxels with the largest byte first.
  std::string bigEndianNifti()
  {
    writeByItk<short>(folder / "little.nii", image.geometry, 1, shorts, false);
    std::string bytes = folder.read("little.nii");
    swapNumbers(bytes, 0, 4, 4);
    swapNumbers(bytes, 40, 56, 2);   // dim
    swapNumbers(bytes, 56, 68, 4);   // intent_p
    swapNumbers(bytes, 68, 76, 2);   // intent_code to slice_start
    swapNumbers(bytes, 76, 120, 4);  // pixdim to scl_inter
    swapNumbers(bytes, 120, 122, 2); // slice_end
    swapNumbers(bytes, 124, 148, 4);
    swapNumbers(bytes, 252, 256, 2); // qform_code, sform_code
    swapNumbers(bytes, 256, 328, 4);
    swapNumbers(bytes, 352, bytes.size(), 2);
    return bytes;
  }

  TemporaryFolder folder;
  Image<3> image = testing::noiseImage<3>(testing::obliqueGeometry<3>({101, 83, 67}), 1); // 1.1 MB of shorts: several pieces
  std::vector<short> shorts;
};

TEST_F(VoxelPlaceTest, FilesOfItkGiveTheirVoxelsOnAnyNumberOfThreads)
{
  for (const std::string name : {"a.nii", "a.nii.gz", "a.mha", "a.mhd"})
    for (const bool compress : {false, true}) {
      SCOPED_TRACE(name + (compress ? ", compressed" : ""));
      writeByItk<short>(folder / name, image.geometry, 1, shorts, compress);
      writeByItk<float>(folder / ("float." + name), image.geometry, 1, image.voxels, compress);
      ASSERT_TRUE(niftiVoxels(folder / name) || metaImageVoxels(folder / name)); // not left to ITK
      for (const int threads : {1, 3}) {
        EXPECT_EQ(load(folder / name, threads) == image.voxels, true);
        EXPECT_EQ(load(folder / ("float." + name), threads) == image.voxels, true);
      }
    }
}

TEST_F(VoxelPlaceTest, OwnCompressedFilesGiveTheirVoxelsOnAnyNumberOfThreads)
{
  for (const std::string name : {"a.nii.gz", "a.mha"})
    for (const PixelType type : {PixelType::int16, PixelType::float32, PixelType::float64}) {
      SCOPED_TRACE(name + ", " + pixelTypeName(type));
      writeImage(folder / name, image, type, true, 2);
      for (const int threads : {1, 3})
        EXPECT_EQ(load(folder / name, threads) == image.voxels, true);
    }
}

TEST_F(VoxelPlaceTest, TheOtherOrderOfBytes)
{
  folder.write("a.nii", bigEndianNifti());
  folder.write("a2.nii.gz", gzipped(bigEndianNifti()));
  writeByItk<short>(folder / "a.mha", image.geometry, 1, shorts, false);
  std::string meta = folder.read("a.mha");
  swapNumbers(meta, meta.size() - 2 * shorts.size(), meta.size(), 2);
  meta.replace(meta.find("BinaryDataByteOrderMSB = False"), 30, "BinaryDataByteOrderMSB = True");
  folder.write("a.mha", meta);

  EXPECT_TRUE(niftiVoxels(folder / "a.nii")->swapped);
  EXPECT_TRUE(metaImageVoxels(folder / "a.mha")->swapped);
  for (const char* name : {"a.nii", "a2.nii.gz", "a.mha"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(load(folder / name, 3) == image.voxels, true);
    EXPECT_EQ(testing::readByItk<short>(folder / name) == shorts, true); // the test itself
  }
}

TEST_F(VoxelPlaceTest, SeveralGzipMembersAreOneFile)
{
  writeByItk<short>(folder / "a.nii", image.geometry, 1, shorts, false);
  const std::string bytes = folder.read("a.nii");
  folder.write("b.nii.gz", gzipped(bytes.substr(0, 100)) + gzipped(bytes.substr(100, 700001)) + gzipped(bytes.substr(700101)));

  EXPECT_EQ(load(folder / "b.nii.gz") == image.voxels, true);
}

TEST_F(VoxelPlaceTest, AnExtensionBetweenHeaderAndVoxelsIsSkipped)
{
  writeByItk<short>(folder / "a.nii", image.geometry, 1, shorts, false);
  std::string bytes = folder.read("a.nii");
  const float offset = 352 + 16;
  std::memcpy(bytes.data() + 108, &offset, sizeof offset);
  const std::int32_t extension[] = {1, 16, 6, 0x41414141, 0x41414141}; // there is one, its length, its kind, its text
  bytes.replace(348, 4, reinterpret_cast<const char*>(extension), sizeof extension);
  folder.write("b.nii", bytes);
  folder.write("c.nii.gz", gzipped(bytes));

  EXPECT_EQ(load(folder / "b.nii") == image.voxels, true);
  EXPECT_EQ(load(folder / "c.nii.gz") == image.voxels, true);
}

TEST_F(VoxelPlaceTest, AFourthAxisOfOneIsOneVolumeAndAFifthHoldsComponents)
{
  writeByItk<short>(folder / "a.nii", image.geometry, 1, shorts, false);
  std::string bytes = folder.read("a.nii");
  bytes[40] = 4; // dim[0]; dim[4] is 1
  EXPECT_TRUE(niftiVoxels(folder.write("b.nii", bytes)));
  EXPECT_EQ(load(folder / "b.nii") == image.voxels, true);

  bytes[40] = 5;
  bytes[50] = 2; // dim[5]
  EXPECT_FALSE(niftiVoxels(folder.write("c.nii", bytes)));
}

TEST_F(VoxelPlaceTest, AnUncompressedFileMayEndInGz)
{
  writeByItk<short>(folder / "a.nii", image.geometry, 1, shorts, false);
  folder.write("b.nii.gz", folder.read("a.nii"));

  EXPECT_EQ(load(folder / "b.nii.gz") == image.voxels, true);
}

TEST_F(VoxelPlaceTest, WhatOnlyItsLibraryReadsIsLeftToIt)
{
  writeByItk<short>(folder / "a.nii", image.geometry, 1, shorts, false);
  std::string scaled = folder.read("a.nii");
  const float slopeAndIntercept[] = {0, -10};
  std::memcpy(scaled.data() + 112, slopeAndIntercept, sizeof slopeAndIntercept);
  EXPECT_FALSE(niftiVoxels(folder.write("scaled.nii", scaled)));
  writeVectorImage(folder / "vector.nii", VectorImage<3>{image.geometry, 3, std::vector<float>(3 * image.voxels.size())}, false);
  EXPECT_FALSE(niftiVoxels(folder / "vector.nii"));
  writeImage(folder / "pair.hdr", image, PixelType::int16, false);
  EXPECT_FALSE(niftiVoxels(folder / "pair.hdr"));
  const std::string head = "ObjectType = Image\nNDims = 2\nDimSize = 2 1\nElementType = MET_SHORT\n";
  EXPECT_FALSE(metaImageVoxels(folder.write("list.mhd", head + "ElementDataFile = LIST\na.raw\nb.raw\n")));
  EXPECT_FALSE(metaImageVoxels(folder.write("offset.mhd", head + "HeaderSize = -1\nElementDataFile = a.raw\n")));
  EXPECT_FALSE(metaImageVoxels(folder.write("text.mha", head + "BinaryData = False\nElementDataFile = LOCAL\n1 2\n")));
  EXPECT_TRUE(metaImageVoxels(folder.write("plain.mhd", head + "ElementDataFile = a.raw\n")));
}

class DamagedFiles : public VoxelPlaceTest {
protected:
  void expectDamaged(const std::string& bytes)
  {
    const std::string path = folder.write("damaged" + ending, bytes);
    for (const int threads : {1, 3})
      EXPECT_EQ(testing::errorText([&] { load(path, threads); }, ExitCode::unreadableInput),
                path
                    + ": the voxels cannot be read: the compressed data are damaged or cut off. Allowed: a whole file; it may have "
                      "been cut off while it was copied.");
  }

  std::string ending;
};

TEST_F(DamagedFiles, BlocksThatWereChangedAreTold)
{
  ending = ".nii.gz";
  writeImage(folder / "a.nii.gz", image, PixelType::int16, true, 2);
  const std::string good = folder.read("a.nii.gz");
  const GzipIndex index = gzipIndex(folder / "a.nii.gz");
  ASSERT_GT(index.deflatedBytes.size(), 4u);
  const auto changed = [&](std::size_t position) {
    std::string bytes = good;
    bytes[position] = static_cast<char>(bytes[position] ^ 0x10);
    return bytes;
  };

  expectDamaged(changed(good.size() / 2));                                           // inside a block
  expectDamaged(changed(good.size() - 7));                                           // the checksum
  expectDamaged(good.substr(0, good.size() / 2) + good.substr(good.size() / 2 + 1)); // a byte is missing: by one thread
  std::string swapped = good; // two blocks changed their places, and their lengths
  GzipIndex other = index;
  std::swap(other.deflatedBytes[1], other.deflatedBytes[2]);
  const std::size_t second = index.headerBytes + index.deflatedBytes[0],
                    lengths[] = {index.deflatedBytes[1], index.deflatedBytes[2]};
  swapped = gzipHeader(other) + good.substr(index.headerBytes, index.deflatedBytes[0])
            + good.substr(second + lengths[0], lengths[1]) + good.substr(second, lengths[0])
            + good.substr(second + lengths[0] + lengths[1]);
  ASSERT_EQ(swapped.size(), good.size());
  expectDamaged(swapped);
}

TEST_F(DamagedFiles, AWrongIndexIsNoHarmIfTheStreamIsWhole)
{
  writeImage(folder / "a.nii.gz", image, PixelType::int16, true, 2);
  GzipIndex index = gzipIndex(folder / "a.nii.gz");
  ++index.deflatedBytes[0]; // the sum no longer ends where the file does
  folder.write("b.nii.gz", gzipHeader(index) + folder.read("a.nii.gz").substr(index.headerBytes));

  EXPECT_EQ(load(folder / "b.nii.gz", 3) == image.voxels, true);
}

TEST_F(DamagedFiles, StreamsOfOthersToo)
{
  for (const std::string name : {"a.nii.gz", "a.mha"}) {
    ending = name.substr(1);
    writeByItk<short>(folder / name, image.geometry, 1, shorts, true);
    std::string bytes = folder.read(name);
    const std::size_t checksum = bytes.size() - (ending == ".mha" ? 2 : 6);
    bytes[checksum] = static_cast<char>(bytes[checksum] ^ 1);
    expectDamaged(bytes);
  }
}

TEST_F(VoxelPlaceTest, IntegersThatFloatRoundsAreCounted)
{
  std::vector<int> numbers(image.voxels.size(), 1 << 30);
  numbers[3] = (1 << 24) + 1;
  numbers[4] = -(1 << 24) - 1;
  numbers[5] = (1 << 24) + 2;
  writeByItk<int>(folder / "a.mha", image.geometry, 1, numbers, false);

  std::vector<std::string> notes;
  readImage<3>(folder / "a.mha", notes, 2);

  EXPECT_EQ(notes, std::vector<std::string>{folder / "a.mha"
                                            + ": 2 whole numbers above 2^24 are rounded to single precision; label "
                                              "maps keep theirs (tessera-transform --labels)"});
}

}
}
