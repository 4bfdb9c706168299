#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

namespace tessera {
namespace {

using namespace testing;

void read3(const std::string& path)
{
  std::vector<std::string> notes;
  readImage<3>(path, {}, notes);
}

class ImageFileErrors : public ::testing::Test {
protected:
  /// A MetaImage of 4 x 3 x 2 bytes with one line of the header replaced.
  std::string metaImage(const std::string& key, const std::string& value) const
  {
    std::map<std::string, std::string> header{{"ElementSpacing", "1 1 1"},
                                              {"Offset", "0 0 0"},
                                              {"DimSize", "4 3 2"},
                                              {"TransformMatrix", "1 0 0 0 1 0 0 0 1"}};
    header[key] = value;
    std::string text = "ObjectType = Image\nNDims = 3\n";
    for (const auto& [name, number] : header)
      text += name + " = " + number + "\n";
    return folder.write("image.mha", text + "ElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
                                         + std::string(24, '\x01'));
  }

  /// A NIfTI of byteNoise() with a float of its header replaced.
  std::string nifti(std::size_t offset, float value) const
  {
    writeImage(folder / "image.nii", byteNoise(), PixelType::uint8, false);
    std::string bytes = folder.read("image.nii");
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return folder.write("image.nii", bytes);
  }

  /// The message of read3 without the path before it.
  std::string complaint(const std::string& path) const
  {
    EXPECT_EQ(exitCodeOf([&] { read3(path); }), ExitCode::unreadableInput);
    const std::string message = messageOf([&] { read3(path); });
    return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
  }

  TemporaryFolder folder;
};

const std::string spacingRule =
    ": a voxel must have an extent. Allowed: spacings above zero; a flipped axis belongs into the direction.";

TEST_F(ImageFileErrors, SpacingThatIsNotAboveZero)
{
  EXPECT_EQ(complaint(nifti(84, 0)), "spacing 0 on axis 1" + spacingRule); // pixdim[2]
  EXPECT_EQ(complaint(nifti(88, -2)), "spacing -2 on axis 2" + spacingRule);
  EXPECT_EQ(complaint(nifti(80, NAN)), "spacing nan on axis 0" + spacingRule);
}

TEST_F(ImageFileErrors, AxesOfANiftiThatAreNoNumbers)
{
  const std::string rule = ": not a position. Allowed: numbers of a qform or sform in millimetres.";
  for (const std::size_t offset :
       {256, 268, 280, 292, 296, 320}) // quatern_b, qoffset_x, srow_x, srow_y, srow_z
    for (const float value : {INFINITY, NAN, -3e38F})
      EXPECT_EQ(complaint(nifti(offset, value)),
                "the axes and origin of its header hold " + shortText(value) + rule)
          << offset;
}

TEST_F(ImageFileErrors, NiftiWithShearedSformAlone)
{
  nifti(284, 0.5F); // srow_x[1]
  std::string bytes = folder.read("image.nii");
  bytes[252] = 0; // qform_code
  EXPECT_TRUE(complaint(folder.write("image.nii", bytes)).starts_with("by its sform the voxels are "));
  float widthMm = 0;
  std::memcpy(&widthMm, bytes.data() + 300, sizeof widthMm); // srow_y[1]
  widthMm = std::hypot(widthMm, 0.5F);
  std::memcpy(bytes.data() + 84, &widthMm, sizeof widthMm); // pixdim[2]
  const double skew = readImageHeader(folder.write("image.nii", bytes), {}).direction[0][1];
  EXPECT_NEAR(skew, -0.5 / widthMm, 1e-6);
}

TEST_F(ImageFileErrors, SeveralVolumesAreRefusedWithTheirDimension)
{
  const std::string path =
      folder.write("four.mha", "ObjectType = Image\nNDims = 4\nDimSize = 2 1 1 3\nElementType = MET_UCHAR\n"
                               "ElementDataFile = LOCAL\nabcdef");
  EXPECT_EQ(readImageHeader(path, {}).dimension, 4);
  EXPECT_EQ(exitCodeOf([&] { read3(path); }), ExitCode::usage);
  EXPECT_EQ(
      messageOf([&] { read3(path); }),
      path + ": dimension 4: an image of dimension 3 is asked for here. Allowed: one image of dimension 3. "
          + oneOfSeries);
}

TEST_F(ImageFileErrors, ThreeFloatsAreNoColour)
{
  writeVectorImage(folder / "field.mha",
                   VectorImage<3>{byteNoise().geometry, 3, std::vector<float>(16 * 12 * 10 * 3)}, false);
  EXPECT_EQ(complaint(folder / "field.mha"),
            "3 components a voxel: an image of one component is asked for here. Allowed: one component, or "
            "colour (red, green, blue, with or without opacity).");
}

TEST_F(ImageFileErrors, AnEmptyMask)
{
  Image<3> image = byteNoise();
  std::fill(image.voxels.begin(), image.voxels.end(), 0.0f);
  writeImage(folder / "mask.mha", image, PixelType::uint8, false);
  const auto readIt = [&] { readMask<3>(folder / "mask.mha", {}); };
  EXPECT_EQ(exitCodeOf(readIt), ExitCode::unreadableInput);
  EXPECT_EQ(messageOf(readIt), folder / "mask.mha"
                                   + ": a mask of 1920 voxels: it is empty, every voxel is zero. Allowed: a "
                                     "mask with at least one voxel that is not zero.");
}

TEST_F(ImageFileErrors, HeadersThatPromiseMoreThanAnyFileHolds)
{
  const std::string cutOff = ". Allowed: a whole file; it may have been cut off while it was copied.";
  const std::string meta = metaImage("DimSize", "4294967296 4294967296 4"); // 2^66
  const std::string metaBytes = std::to_string(folder.read("image.mha").size());
  EXPECT_TRUE(complaint(meta).starts_with(meta + " holds " + metaBytes + " bytes of the 461168601842738"))
      << complaint(meta);
  EXPECT_EQ(complaint(nifti(108, 1e30f)), folder / "image.nii" + " holds less than the "
                                              + std::to_string((std::uint64_t(1) << 62) + 1920)
                                              + " bytes that its header promises" + cutOff);
  const std::int16_t sizes[] = {7, 32767, 32767, 32767, 32767, 32767, 32767, 32767};
  std::string bytes = folder.read("image.nii");
  std::memcpy(bytes.data() + 40, sizes, sizeof sizes);
  EXPECT_TRUE(
      complaint(folder.write("image.nii", bytes)).ends_with(" bytes that its header promises" + cutOff));
}

TEST_F(ImageFileErrors, NiftiVoxelsThatBeginInsideTheHeader)
{
  for (const float offset : {0.0f, -5.0f, 347.0f, std::numeric_limits<float>::quiet_NaN()}) {
    const std::string text = complaint(nifti(108, offset));
    EXPECT_TRUE(text.starts_with("its voxels are said to begin at byte ")) << text;
    EXPECT_PRED2(testing::contains, text, "Allowed: byte 352 or one behind it");
  }
  EXPECT_EQ(messageOf([&] { read3(nifti(108, 352)); }), "no error");
}

TEST_F(ImageFileErrors, AVtkFileTooShortForItsSizeTakesNoMemory)
{
  writeImage(folder / "a.vtk", byteNoise(), PixelType::uint8, false);
  std::string text = folder.read("a.vtk");
  text.replace(text.find("DIMENSIONS 16 12 10"), 19, "DIMENSIONS 16 12 999999999");
  text.replace(text.find("POINT_DATA 1920"), 15, "POINT_DATA 191999999808");

  EXPECT_EQ(complaint(folder.write("b.vtk", text)),
            "the file is too short for the 16 x 12 x 999999999 voxels of its header. Allowed: a whole file; "
            "it may have been cut off while it was copied.");
}

TEST_F(ImageFileErrors, ACompressedFileWithoutItsEnding)
{
  writeImage(folder / "a.nii.gz", byteNoise(), PixelType::uint8, true);

  EXPECT_EQ(
      complaint(folder.write("b.nii", folder.read("a.nii.gz"))),
      "it is compressed, which its library sees only by a name that ends in .gz. Allowed: such a name.");
}

TEST_F(ImageFileErrors, MetaImagesWithoutWhatTheyNeed)
{
  for (const std::string count : {"0", "-2"})
    EXPECT_EQ(complaint(metaImage("ElementNumberOfChannels", count)),
              "ElementNumberOfChannels = " + count
                  + ": not a number of components. Allowed: a whole number above 0.");
  const std::string head = "ObjectType = Image\nNDims = 2\nDimSize = 2 3\n";
  EXPECT_EQ(complaint(folder.write("a.mhd", head + "ElementType = MET_UCHAR\n")),
            "its header does not come to ElementDataFile. Allowed: a whole header.");
  EXPECT_EQ(complaint(folder.write("a.mhd", head + "ElementDataFile = a.raw\n")),
            "its header has no ElementType. Allowed: a whole header.");
  EXPECT_EQ(complaint(folder.write("a.mhd", head + "ElementType = MET_UCHAR\nElementDataFile =\n")),
            "its header has no ElementDataFile. Allowed: a whole header.");
  for (const std::string& name :
       {std::string("."), std::string(300, 'a')}) // the second of more letters than names have
    EXPECT_EQ(
        complaint(folder.write("a.mhd", head + "ElementType = MET_UCHAR\nElementDataFile = " + name + "\n")),
        "its data file " + (folder / name) + " is missing. Allowed: a data file where ElementDataFile says.");
}

TEST_F(ImageFileErrors, MetaImagesOfSeveralFiles)
{
  const std::string head =
      "ObjectType = Image\nNDims = 3\nDimSize = 2 2 3\nElementType = MET_UCHAR\nElementDataFile = ";
  for (const int slice : {0, 1, 2})
    folder.write("s0" + std::to_string(2 * slice) + ".raw", std::string(4, static_cast<char>(slice + 1)));
  const auto voxels = [&](const std::string& dataFile) {
    std::vector<std::string> notes;
    return readImage<3>(folder.write("a.mhd", head + dataFile + "\n"), {}, notes).image.voxels;
  };
  const std::vector<float> expected{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  EXPECT_EQ(voxels("LIST\ns00.raw\ns02.raw\ns04.raw"), expected);
  EXPECT_EQ(voxels("LIST 2\ns00.raw\ns02.raw\ns04.raw"), expected);
  EXPECT_EQ(voxels("s%02d.raw 0 4 2"), expected);

  const auto complaintOf = [&](const std::string& dataFile) {
    return complaint(folder.write("a.mhd", head + dataFile + "\n"));
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
    EXPECT_EQ(exitCodeOf([&] { read3(folder / header); }), ExitCode::unreadableInput);
    std::filesystem::remove(folder / data);
    EXPECT_TRUE(complaint(folder / header).starts_with("its data file " + (folder / data) + " is missing"));
  }
}

TEST_F(ImageFileErrors, TwoNiftiFilesOfOneNameAreNotConfused)
{
  Image<3> image = byteNoise();
  writeImage(folder / "a.nii.gz", image, PixelType::uint8, true);
  image.voxels[0] = 99;
  writeImage(folder / "a.nii", image, PixelType::uint8, false);

  std::vector<std::string> notes;
  EXPECT_EQ(readImage<3>(folder / "a.nii.gz", {}, notes).image.voxels[0], 0);
}

}
}
