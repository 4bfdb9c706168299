#include "Core/Image/Files/InputError.h"
#include "Testing/Support/Files/StoredImages.h"

#include <cstring>
#include <map>

namespace tessera {
namespace {

using namespace testing;

class ImageFileErrors : public ::testing::Test {
protected:
  /// A NIfTI of byteNoise() with a float of its header replaced.
  std::string nifti(std::size_t offset, float value) const
  {
    writeImage(folder / "image.nii", byteNoise(), PixelType::uint8, false);
    std::string bytes = folder.read("image.nii");
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return folder.write("image.nii", bytes);
  }

  TemporaryFolder folder;
};

TEST_F(ImageFileErrors, SeveralVolumesAreRefusedWithTheirDimension)
{
  const std::string path =
      folder.write("four.mha", "ObjectType = Image\nNDims = 4\nDimSize = 2 1 1 3\nElementType = MET_UCHAR\n"
                               "ElementDataFile = LOCAL\nabcdef");
  EXPECT_EQ(readImageHeader(path, {}).dimension, 4);
  EXPECT_EQ(exitCodeOf([&] { loadedImage<3>(path); }), ExitCode::usage);
  EXPECT_EQ(
      messageOf([&] { loadedImage<3>(path); }),
      path + ": dimension 4: an image of dimension 3 is asked for here. Allowed: one image of dimension 3. "
          + oneOfSeries);
}

TEST_F(ImageFileErrors, HeadersThatPromiseMoreThanAnyFileHolds)
{
  const std::string cutOff = ". Allowed: a whole file; it may have been cut off while it was copied.";
  const std::string meta = folder.write("image.mha", "ObjectType = Image\nNDims = 3\n"
                                                     "DimSize = 4294967296 4294967296 4\n" // 2^66
                                                     "ElementType = MET_UCHAR\nElementDataFile = LOCAL\n");
  const std::string metaBytes = std::to_string(folder.read("image.mha").size());
  EXPECT_TRUE(complaintOf(meta).starts_with(meta + " holds " + metaBytes + " bytes of the 461168601842738"))
      << complaintOf(meta);
  EXPECT_EQ(complaintOf(nifti(108, 1e30f)), folder / "image.nii" + " holds less than the "
                                                + std::to_string((std::uint64_t(1) << 62) + 1920)
                                                + " bytes that its header promises" + cutOff);
  const std::int16_t sizes[] = {7, 32767, 32767, 32767, 32767, 32767, 32767, 32767};
  std::string bytes = folder.read("image.nii");
  std::memcpy(bytes.data() + 40, sizes, sizeof sizes);
  EXPECT_TRUE(
      complaintOf(folder.write("image.nii", bytes)).ends_with(" bytes that its header promises" + cutOff));
}

TEST_F(ImageFileErrors, AVtkFileTooShortForItsSizeTakesNoMemory)
{
  writeImage(folder / "a.vtk", byteNoise(), PixelType::uint8, false);
  std::string text = folder.read("a.vtk");
  text.replace(text.find("DIMENSIONS 16 12 10"), 19, "DIMENSIONS 16 12 999999999");
  text.replace(text.find("POINT_DATA 1920"), 15, "POINT_DATA 191999999808");

  EXPECT_EQ(complaintOf(folder.write("b.vtk", text)),
            "the file is too short for the 16 x 12 x 999999999 voxels of its header. Allowed: a whole file; "
            "it may have been cut off while it was copied.");
}

TEST_F(ImageFileErrors, ACompressedFileWithoutItsEnding)
{
  writeImage(folder / "a.nii.gz", byteNoise(), PixelType::uint8, true);

  EXPECT_EQ(
      complaintOf(folder.write("b.nii", folder.read("a.nii.gz"))),
      "it is compressed, which its library sees only by a name that ends in .gz. Allowed: such a name.");
}

TEST_F(ImageFileErrors, MetaImagesWithoutWhatTheyNeed)
{
  const std::string head = "ObjectType = Image\nNDims = 2\nDimSize = 2 3\n";
  EXPECT_EQ(complaintOf(folder.write("a.mhd", head + "ElementType = MET_UCHAR\n")),
            "its header does not come to ElementDataFile. Allowed: a whole header.");
  EXPECT_EQ(complaintOf(folder.write("a.mhd", head + "ElementDataFile = a.raw\n")),
            "its header has no ElementType. Allowed: a whole header.");
  EXPECT_EQ(complaintOf(folder.write("a.mhd", head + "ElementType = MET_UCHAR\nElementDataFile =\n")),
            "its header has no ElementDataFile. Allowed: a whole header.");
  for (const std::string& name :
       {std::string("."), std::string(300, 'a')}) // the second of more letters than names have
    EXPECT_EQ(complaintOf(
                  folder.write("a.mhd", head + "ElementType = MET_UCHAR\nElementDataFile = " + name + "\n")),
              "its data file " + (folder / name)
                  + " is missing. Allowed: a data file where ElementDataFile says.");
}

TEST_F(ImageFileErrors, MetaImagesOfSeveralFilesThatDoNotFit)
{
  const std::string head =
      "ObjectType = Image\nNDims = 3\nDimSize = 2 2 3\nElementType = MET_UCHAR\nElementDataFile = ";
  for (const std::string name : {"s00.raw", "s02.raw", "s04.raw"})
    folder.write(name, "1234");
  const auto complaintOf = [&](const std::string& dataFile) {
    return testing::complaintOf(folder.write("a.mhd", head + dataFile + "\n"));
  };
  const std::string missing = " is missing. Allowed: a data file where ElementDataFile says.";
  EXPECT_EQ(complaintOf("LIST\ns00.raw\ns02.raw"),
            "ElementDataFile names 2 files of 3. Allowed: a file for each slice.");
  EXPECT_EQ(complaintOf("LIST\ns00.raw\ns02.raw\ns06.raw"),
            "its data file " + (folder / "s06.raw") + missing);
  EXPECT_EQ(complaintOf("s%02d.raw 0 5 1"), "its data file " + (folder / "s01.raw") + missing);
  EXPECT_EQ(complaintOf("s%02d.raw 0 2 2"),
            "ElementDataFile names 2 files of 3. Allowed: a file for each slice.");
  for (const std::string pattern :
       {"s%02d.raw 0 4 0", "s%02d.raw 0 2", "s%02x.raw 0 4 2", "s%02d%d.raw 0 4 2"})
    EXPECT_EQ(complaintOf(pattern), "ElementDataFile: no numbers of slices can be made of it. Allowed: a "
                                    "name such as slice%03d.raw FIRST LAST STEP.");
  folder.write("s02.raw", "123");
  EXPECT_TRUE(complaintOf("s%02d.raw 0 4 2")
                  .starts_with(folder / "s02.raw" + " holds 3 bytes of the 4 that its header promises"));
}

TEST_F(ImageFileErrors, PairsThatLackTheirData)
{
  for (const auto& [header, data] :
       std::map<std::string, std::string>{{"image.mhd", "image.raw"}, {"image.hdr", "image.img"}}) {
    SCOPED_TRACE(header);
    writeImage(folder / header, byteNoise(), PixelType::uint8, false);
    folder.write(data, "short");
    EXPECT_EQ(exitCodeOf([&] { loadedImage<3>(folder / header); }), ExitCode::unreadableInput);
    std::filesystem::remove(folder / data);
    EXPECT_TRUE(complaintOf(folder / header).starts_with("its data file " + (folder / data) + " is missing"));
  }
}

TEST_F(ImageFileErrors, TwoNiftiFilesOfOneNameAreNotConfused)
{
  Image<3> image = byteNoise();
  writeImage(folder / "a.nii.gz", image, PixelType::uint8, true);
  image.voxels[0] = 99;
  writeImage(folder / "a.nii", image, PixelType::uint8, false);

  EXPECT_EQ(loadedImage<3>(folder / "a.nii.gz").image.voxels[0], 0);
}

}
}
