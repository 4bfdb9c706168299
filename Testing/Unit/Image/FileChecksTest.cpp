// needs: ITK
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/VoxelPlace.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

#include <map>

#include <zlib.h>

namespace tessera {
namespace {

using testing::byteNoise;
using testing::exitCodeOf;
using testing::messageOf;

class FileChecks : public ::testing::Test {
protected:
  static std::vector<float> voxels(const std::string& path)
  {
    std::vector<std::string> notes;
    return readImage<3>(path, notes).image.voxels;
  }
  static void read(const std::string& path) { voxels(path); }

  /// The message without the path before it.
  std::string complaint(const std::string& path) const
  {
    EXPECT_EQ(exitCodeOf([&] { read(path); }), ExitCode::unreadableInput) << path;
    const std::string message = messageOf([&] { read(path); });
    return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
  }
  bool complains(const std::string& path, const std::string& start) const
  {
    const std::string text = complaint(path);
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.starts_with(start);
  }

  /// A MetaImage of 2 x 2 x 2 voxels with more lines in its header, and of other numbers.
  std::string metaImage(const std::string& lines, const std::string& voxels = "abcdefgh",
                        const std::string& start = "ObjectType = Image\n") const
  {
    return folder.write("a.mha", start + "NDims = 3\nDimSize = 2 2 2\n" + lines
                                     + "ElementType = MET_UCHAR\nElementDataFile = LOCAL\n" + voxels);
  }

  /// A text that its library reads to the end alone.
  static std::string numbers(int count)
  {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += std::to_string(i % 200) + (i % 5 == 4 ? "\n" : " ");
    return text;
  }

  testing::TemporaryFolder folder;
};

const std::string vtkHead =
    "# vtk DataFile Version 3.0\ntitle\nASCII\nDATASET STRUCTURED_POINTS\nDIMENSIONS 4 3 2\nSPACING 1 1 1\n"
    "ORIGIN 0 0 0\nPOINT_DATA 24\n";
const std::string nrrdHead = "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 4 3 2\nencoding: ";

TEST_F(FileChecks, WhatReadsWholeReadsAsAnErrorOrTheSameWhenCut)
{
  std::map<std::string, std::string> files;
  for (const bool compressed : {false, true})
    for (const std::string format :
         {"mha", "nii", "nrrd", "gipl", "gipl.gz", "vtk", "tif", "dcm", "h5", "nii.gz"}) {
      writeImage(folder / ("image." + format), byteNoise(), PixelType::uint8, compressed);
      files[(compressed ? "packed." : "plain.") + format] = folder.read("image." + format);
    }
  files["text.mha"] = "ObjectType = Image\nNDims = 3\nBinaryData = False\nDimSize = 4 3 2\nElementType = "
                      "MET_UCHAR\nElementDataFile = LOCAL\n"
                      + numbers(24);
  files["text.vtk"] = vtkHead + "SCALARS a unsigned_char\nLOOKUP_TABLE default\n" + numbers(24);
  files["text.nrrd"] = nrrdHead + "ascii\n\n" + numbers(24);
  for (const auto& [name, bytes] : files) {
    SCOPED_TRACE(name);
    const std::vector<float> whole = voxels(folder.write(name, bytes));
    // the last number of a text may lose digits
    const std::size_t last = name.starts_with("text") ? 4 : 1;
    for (std::size_t i = 0; i < 60; ++i) {
      const std::size_t kept = (bytes.size() - last) * i / 59;
      const std::string path = folder.write(name, bytes.substr(0, kept));
      try { // what follows the voxels may be missing
        EXPECT_EQ(voxels(path), whole) << kept << " of " << bytes.size() << " bytes";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::unreadableInput);
      }
    }
  }
}

TEST_F(FileChecks, ACompressedFileThatHoldsFarMoreThanItsVoxelsIsNotInflatedToItsEnd)
{
  writeImage(folder / "a.nii", byteNoise(), PixelType::uint8, false);
  const auto gzipped = [&](std::size_t behind) {
    const std::string path = folder / "a.nii.gz", bytes = folder.read("a.nii") + std::string(behind, '\0');
    const gzFile file = gzopen(path.c_str(), "wb1");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  };
  EXPECT_EQ(messageOf([&] { read(gzipped(1000)); }), "no error");
  EXPECT_TRUE(
      complains(gzipped(30 << 20), "the voxels cannot be read: the compressed data are damaged or cut off."));
}

TEST_F(FileChecks, MetaImagesThatCanBeUnderstoodInTwoWays)
{
  EXPECT_EQ(messageOf([&] { read(metaImage("\n", "abcdefgh", "Comment = x\n")); }), "no error");
  EXPECT_TRUE(
      complains(metaImage("DimSize = 2 2 1\n"), "its header has DimSize twice. Allowed: each key once."));
  EXPECT_TRUE(
      complains(metaImage("BinaryData = perhaps\n"), "BinaryData = perhaps: neither true nor false."));
  EXPECT_TRUE(
      complains(metaImage("CompressedDataSize = 12x\n"), "CompressedDataSize = 12x: not a number of bytes."));
  EXPECT_TRUE(complains(metaImage("HeaderSize = -7\n"), "HeaderSize = -7: not a number of bytes."));
  EXPECT_TRUE(complains(metaImage("Name = " + std::string(300, 'n') + "\n"),
                        "Name has 300 letters. Allowed: at most 250."));
  EXPECT_TRUE(complains(metaImage("BinaryData = False\nCompressedData = True\n"),
                        "its voxels are compressed, and text"));
  EXPECT_TRUE(complains(metaImage("BinaryData = False\n", "1 2 3 4 5 6 7 x"),
                        folder / "a.mha" + " holds 7 numbers of the 8"));
  const std::string readable = "Allowed: an image file that exists and may be read: ";
  for (const std::string& start :
       {std::string(300, 'k') + " = 1\n", "Modality = " + std::string(5000, 'v') + "\n",
        std::string("Modality = a\0b\n", 15)})
    EXPECT_TRUE(testing::contains(complaint(metaImage("", "abcdefgh", "Comment = x\n" + start)), readable));
}

TEST_F(FileChecks, MetaImagesWithoutALastLineEnd)
{
  const std::string head =
      "Comment = x\nNDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\nElementDataFile = ";
  EXPECT_TRUE(
      complains(folder.write("a.mhd", head + "nowhere.raw"), "its data file " + (folder / "nowhere.raw")));
  EXPECT_TRUE(
      complains(folder.write("a.mhd", head + "s%02d.raw 1 1 1"), "ElementDataFile names 1 files of 2."));
  EXPECT_TRUE(
      complains(folder.write("a.mhd", head + "s%02d.raw 1 1"), "ElementDataFile: no numbers of slices"));
}

TEST_F(FileChecks, NamesOfDataFilesTakeLittleMemory)
{
  const std::string head =
      "ObjectType = Image\nNDims = 3\nDimSize = 2 2 16777216\nElementType = MET_UCHAR\nElementDataFile = ";
  EXPECT_TRUE(complains(folder.write("a.mhd", head + "s%02d.raw 1 16777216 1\n"),
                        "16777216 data files. Allowed: at most 65536."));
  EXPECT_TRUE(complains(folder.write("a.mhd", head + "s%9999999999d.raw 1 10 1\n"), "16777216 data files"));
  const std::string wrong = "data file: no numbers of slices can be made of it. Allowed: a name such as "
                            "slice%03d.raw FIRST LAST STEP, of at most 65536 files.";
  for (const std::string names :
       {"a%d.raw 0 -9223372036854775808 -1", "a%d.raw 0 9223372036854775807 4611686018427387904",
        "a%9999999999d.raw 0 9 1", "a%d.raw 0 16777216 1", "a%d.raw 0 9 0", "a%d.raw 0 9 -1", "a%d.raw 0 9"})
    EXPECT_EQ(complaint(folder.write("a.nhdr", nrrdHead + "raw\ndata file: " + names + "\n\n")), wrong)
        << names;
}

TEST_F(FileChecks, NiftiOfAnotherVersionOrOfUnknownVoxels)
{
  writeImage(folder / "a.nii", byteNoise(), PixelType::uint8, false);
  const std::string good = folder.read("a.nii");
  const auto changed = [&](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return folder.write("b.nii", bytes);
  };
  EXPECT_TRUE(complains(changed(346, '2'),
                        "its header has the length of NIfTI-1, and the magic word of another version."));
  EXPECT_TRUE(complains(changed(346, '9'), "its header has the length of NIfTI-1"));
  EXPECT_TRUE(complains(changed(40, 9), "its header has 9 axes and voxels of type 2. Allowed: 1 to 7 axes"));
  EXPECT_TRUE(complains(changed(70, 1), "its header has 3 axes and voxels of type 1."));
  EXPECT_TRUE(complains(changed(344, 'x'), "its header is not understood.")); // or Analyze
}

TEST_F(FileChecks, AnNrrdWithoutSizesOrWithoutTheEndOfItsHeader)
{
  const std::string voxels(24, 'v'), end = "encoding: raw\n\n" + voxels;
  EXPECT_EQ(messageOf([&] { read(folder.write("a.nrrd", nrrdHead + "raw\n\n" + voxels)); }), "no error");
  for (const std::string start :
       {"dimension: 3\n", "sizes: 4 3 2\n", "dimension: 3\nsizes: 4 3\n", "dimension: 3\nsizes: 4 3 2x\n"})
    EXPECT_FALSE(nrrdVoxels(folder.write("a.nrrd", "NRRD0004\ntype: uchar\n" + start + end))) << start;
  EXPECT_FALSE(nrrdVoxels(folder.write("a.nrrd", nrrdHead + "raw\n" + voxels)));
}

TEST_F(FileChecks, VtkWithOtherLinesThanItsLibraryExpects)
{
  const std::string voxels = "SCALARS a unsigned_char\nLOOKUP_TABLE default\n" + numbers(24);
  EXPECT_EQ(messageOf([&] { read(folder.write("a.vtk", vtkHead + voxels)); }), "no error");
  for (const std::string line : {"SPACING 1 1 1\n", "FIELD scalars 1\n", "POINT_DATA 24\n", "ORIGIN 0 0\n"})
    EXPECT_TRUE(complains(folder.write("a.vtk", vtkHead + line + voxels), "its header is not understood."))
        << line;
}

TEST_F(FileChecks, TheFirstBytesOfAJpeg)
{
  for (const std::string bytes : {"\xff\xd8", "\xff\xd8\xff"})
    EXPECT_TRUE(complains(folder.write("a.jpg", bytes), "the picture is cut off or damaged."));
}

}
}
