// needs: ITK
#include "Core/Image/Compression/BlockIndex.h"
#include "Testing/Support/Files/ItkFiles.h"
#include "Testing/Support/Files/PlaceOf.h"
#include "Testing/Support/Files/StoredImages.h"

namespace tessera {
namespace {

class DamagedFiles : public testing::StoredNoise {
protected:
  void expectDamaged(const std::string& bytes)
  {
    const std::string path = folder.write("damaged" + ending, bytes);
    for (const int threads : {1, 3})
      EXPECT_EQ(
          testing::errorText([&] { testing::loadedImage<3>(path, threads); }, ExitCode::unreadableInput),
          path
              + ": the voxels cannot be read: the compressed data are damaged or cut off. Allowed: a "
                "whole file; it may have been cut off while it was copied.");
  }

  std::string ending;
};

TEST_F(DamagedFiles, BlocksThatWereChangedAreTold)
{
  ending = ".nii.gz";
  writeImage(folder / "a.nii.gz", image, PixelType::int16, true, 2);
  const std::string good = folder.read("a.nii.gz");
  const BlockIndex index = gzipIndex(folder / "a.nii.gz");
  ASSERT_GT(index.deflatedBytes.size(), 4u);
  const auto changed = [&](std::size_t position) {
    std::string bytes = good;
    bytes[position] = static_cast<char>(bytes[position] ^ 0x10);
    return bytes;
  };

  expectDamaged(changed(good.size() / 2)); // inside a block
  expectDamaged(changed(good.size() - 7)); // the checksum
  expectDamaged(good.substr(0, good.size() / 2)
                + good.substr(good.size() / 2 + 1));                   // a byte is missing: by one thread
  const std::size_t first = index.firstBlock + index.deflatedBytes[0]; // two blocks changed their places
  const std::string second = good.substr(first, index.deflatedBytes[1]),
                    third = good.substr(first + second.size(), index.deflatedBytes[2]);
  std::string swapped = good;
  swapped.replace(first, second.size() + third.size(), third + second);
  expectDamaged(swapped);
}

TEST_F(DamagedFiles, AWrongIndexIsNoHarmIfTheStreamIsWhole)
{
  writeImage(folder / "a.nii.gz", image, PixelType::int16, true, 2);
  const std::string good = folder.read("a.nii.gz");
  const BlockIndex index = gzipIndex(folder / "a.nii.gz");
  std::string wrong = good;
  const std::string mark = blockMark(index.deflatedBytes[0] - 34); // one more than there is
  wrong.replace(index.firstBlock, mark.size(), mark);
  folder.write("b.nii.gz", wrong);

  EXPECT_EQ(testing::loadedImage<3>(folder / "b.nii.gz", 3).image.voxels == image.voxels, true);
}

TEST_F(DamagedFiles, AnIndexInTheHeaderIsReadToo)
{
  writeImage(folder / "a.nii.gz", image, PixelType::int16, true, 2);
  const std::string good = folder.read("a.nii.gz");
  BlockIndex index = gzipIndex(folder / "a.nii.gz");
  const std::string old = gzipHeader(index) + good.substr(index.firstBlock);
  EXPECT_EQ(gzipIndex(folder.write("b.nii.gz", old)).deflatedBytes, index.deflatedBytes);
  EXPECT_EQ(testing::loadedImage<3>(folder / "b.nii.gz", 3).image.voxels == image.voxels, true);
  ending = ".nii.gz";
  expectDamaged(std::string(old).replace(old.size() - 7, 1, 1, static_cast<char>(old[old.size() - 7] ^ 1)));
  ++index.deflatedBytes[0]; // the sum no longer ends where the file does
  folder.write("b.nii.gz", gzipHeader(index) + good.substr(index.firstBlock));

  EXPECT_EQ(testing::loadedImage<3>(folder / "b.nii.gz", 3).image.voxels == image.voxels, true);
}

TEST_F(DamagedFiles, BlocksOfAMetaImageToo)
{
  for (const std::string name : {"a.mha", "a.mhd"}) {
    writeImage(folder / name, image, PixelType::int16, true, 2);
    const VoxelPlace place = *testing::placeOf(folder / name);
    const std::string data = name == "a.mhd" ? "a.zraw" : name, good = folder.read(data);
    const BlockIndex index = zlibIndex(place.path, place.streamAt, place.zlibBytes);
    ASSERT_GT(index.deflatedBytes.size(), 4u);
    const std::uint64_t end = place.streamAt + place.zlibBytes;
    const auto expectChangedIsDamaged = [&](std::uint64_t position) {
      std::string bytes = good;
      bytes[position] = static_cast<char>(bytes[position] ^ 0x10);
      if (name == "a.mhd") {
        folder.write("damaged.zraw", bytes);
        bytes = folder.read(name);
        bytes.replace(bytes.find("= a.zraw"), 8, "= damaged.zraw");
      }
      ending = name.substr(1);
      expectDamaged(bytes);
    };

    expectChangedIsDamaged(place.streamAt);                         // the head of the stream
    expectChangedIsDamaged(index.firstBlock + place.zlibBytes / 2); // inside a block
    expectChangedIsDamaged(end - 1);                                // the checksum
  }
}

TEST_F(DamagedFiles, AWrongIndexBehindAMetaImageIsNoHarm)
{
  writeImage(folder / "a.mha", image, PixelType::int16, true, 2);
  const VoxelPlace place = *testing::placeOf(folder / "a.mha");
  const std::uint64_t end = place.streamAt + place.zlibBytes;
  const std::string file = folder.read("a.mha"), stream = file.substr(0, end), behind = file.substr(end);
  BlockIndex longer = zlibIndex(place.path, place.streamAt, place.zlibBytes), fewer = longer;
  ++longer.deflatedBytes[0]; // the sum no longer ends where the stream does
  fewer.deflatedBytes.pop_back();
  for (const std::string& other :
       {std::string(), std::string("x"), "other" + behind, behind.substr(0, behind.size() - 1),
        behind + "1234", zlibIndexText(longer), zlibIndexText(fewer)}) {
    folder.write("b.mha", stream + other);
    EXPECT_EQ(testing::loadedImage<3>(folder / "b.mha", 3).image.voxels == image.voxels, true);
  }
}

TEST_F(DamagedFiles, ANrrdThatIsCutOffIsToldWithItsHeader)
{
  writeImage(folder / "a.nrrd", image, PixelType::int16, true, 2);
  const std::string whole = folder.read("a.nrrd");
  for (const std::size_t length : {whole.size() / 2, whole.size() - 1}) {
    const std::string path = folder.write("b.nrrd", whole.substr(0, length));
    EXPECT_EQ(testing::errorText([&] { readImageHeader(path, {}); }, ExitCode::unreadableInput),
              path
                  + ": the file is too short for the 101 x 83 x 67 voxels of its header. Allowed: a whole "
                    "file; it may have been cut off while it was copied.");
  }
}

TEST_F(DamagedFiles, StreamsOfOthersToo)
{
  for (const std::string name : {"a.nii.gz", "a.mha", "a.nrrd"}) {
    ending = name.substr(1);
    testing::writeByItk<short>(folder / name, image.geometry, 1, {image.voxels.begin(), image.voxels.end()},
                               true);
    std::string bytes = folder.read(name);
    const std::size_t checksum = bytes.size() - (ending == ".mha" ? 2 : 6);
    bytes[checksum] = static_cast<char>(bytes[checksum] ^ 1);
    expectDamaged(bytes);
  }
}

}
}
