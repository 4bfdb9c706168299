// needs: ITK
#include "Core/Image/Voxels/VoxelPlace.h"
#include "Testing/Support/Files/PlaceOf.h"
#include "Testing/Support/Files/StoredImages.h"

#include <map>

#include <zlib.h>

namespace tessera {
namespace {

using namespace testing;

class FileChecks : public ::testing::Test {
protected:
  bool complains(const std::string& path, const std::string& start) const
  {
    const std::string text = complaintOf(path);
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
  const std::string ofMeta = "NDims = 3\nDimSize = 4 3 2\nElementType = MET_UCHAR\nBinaryData = False\n";
  std::map<std::string, std::string> files{
      {"text.mha", ofMeta + "ElementDataFile = LOCAL\n" + numbers(24)},
      {"text.nrrd", nrrdHead + "ascii\n\n" + numbers(24)},
      {"text.vtk", vtkHead + "SCALARS a unsigned_char\nLOOKUP_TABLE default\n" + numbers(24)}};
  for (const bool compressed : {false, true})
    for (const std::string format : {"mha", "nii", "nii.gz", "nrrd", "vtk", "gipl", "tif", "dcm", "h5"}) {
      writeImage(folder / ("image." + format), byteNoise(), PixelType::uint8, compressed);
      files[(compressed ? "packed." : "plain.") + format] = folder.read("image." + format);
    }
  for (const auto& [name, bytes] : files) {
    SCOPED_TRACE(name);
    const std::vector<float> whole = loadedImage<3>(folder.write(name, bytes)).image.voxels;
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t kept = (bytes.size() - 1) * i / 5;
      const std::string path = folder.write(name, bytes.substr(0, kept));
      try { // what follows the voxels may be missing
        EXPECT_EQ(loadedImage<3>(path).image.voxels, whole) << kept << " of " << bytes.size() << " bytes";
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
  EXPECT_EQ(messageOf([&] { loadedImage<3>(gzipped(1000)); }), "no error");
  EXPECT_TRUE(
      complains(gzipped(30 << 20), "the voxels cannot be read: the compressed data are damaged or cut off."));
}

TEST_F(FileChecks, MetaImagesThatCanBeUnderstoodInTwoWays)
{
  EXPECT_EQ(messageOf([&] { loadedImage<3>(metaImage("\n", "abcdefgh", "Comment = x\n")); }), "no error");
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
  EXPECT_TRUE(complains(metaImage("BinaryData = False\n", "1 2 3 4 5 6 7"),
                        folder / "a.mha" + " holds 7 numbers of the 8"));
  EXPECT_TRUE(
      complains(metaImage("HeaderSize = 4\n", "1234abcdefgh"), "HeaderSize = 4: voxels behind their "));
  EXPECT_EQ(messageOf([&] { loadedImage<3>(metaImage("Offset = 1 2 3\nPosition = 1 2 3\n")); }), "no error");
  EXPECT_TRUE(complains(metaImage("Offset = 1 2 3\nOrigin = 1 2 4\n"), "Offset and Origin say two things."));
  EXPECT_TRUE(complains(metaImage("ElementSpacing = 1 1\n"),
                        "ElementSpacing = 1 1: 2 numbers. Allowed: 3 for 3 axes."));
  EXPECT_TRUE(complains(metaImage("", "abcdefgh", "ElementSpacing = 1 1 1\n"),
                        "NDims stands behind ElementSpacing."));
  const std::string readable = "Allowed: an image file that exists and may be read: ";
  for (const std::string& start :
       {std::string(300, 'k') + " = 1\n", "Modality = " + std::string(5000, 'v') + "\n",
        std::string("Modality = a\0b\n", 15)})
    EXPECT_PRED2(testing::contains, complaintOf(metaImage("", "abcdefgh", "Comment = x\n" + start)),
                 readable);
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

TEST_F(FileChecks, AMetaImageWhoseListHasAnEmptyLine)
{
  folder.write("a.raw", "abcd");
  folder.write("b.raw", "efgh");
  const std::string head =
      "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\nElementDataFile = LIST\n";
  EXPECT_EQ(messageOf([&] { loadedImage<3>(folder.write("a.mhd", head + "a.raw\nb.raw\n\n")); }), "no error");
  EXPECT_TRUE(complains(folder.write("a.mhd", head + "a.raw\n\nb.raw\n"),
                        "an empty line stands before the data file b.raw."));
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
    EXPECT_EQ(complaintOf(folder.write("a.nhdr", nrrdHead + "raw\ndata file: " + names + "\n\n")), wrong)
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
  EXPECT_TRUE(complains(changed(344, 'x'), "not an image of a format that is known.")); // or Analyze
}

TEST_F(FileChecks, AnNrrdWithoutSizesOrWithoutTheEndOfItsHeader)
{
  const std::string voxels(24, 'v'), end = "encoding: raw\n\n" + voxels;
  EXPECT_EQ(messageOf([&] { loadedImage<3>(folder.write("a.nrrd", nrrdHead + "raw\n\n" + voxels)); }),
            "no error");
  for (const std::string start :
       {"dimension: 3\n", "sizes: 4 3 2\n", "dimension: 3\nsizes: 4 3\n", "dimension: 3\nsizes: 4 3 2x\n"})
    EXPECT_FALSE(testing::placeOf(folder.write("a.nrrd", "NRRD0004\ntype: uchar\n" + start + end))) << start;
  EXPECT_FALSE(testing::placeOf(folder.write("a.nrrd", nrrdHead + "raw\n" + voxels)));
}

TEST_F(FileChecks, VtkWithOtherLinesThanItsLibraryExpects)
{
  const std::string voxels = "SCALARS a unsigned_char\nLOOKUP_TABLE default\n" + numbers(24);
  EXPECT_EQ(messageOf([&] { loadedImage<3>(folder.write("a.vtk", vtkHead + voxels)); }), "no error");
  for (const std::string line : {"SPACING 1 1 1\n", "FIELD scalars 1\n", "POINT_DATA 24\n", "ORIGIN 0 0\n"})
    EXPECT_TRUE(complains(folder.write("a.vtk", vtkHead + line + voxels), "its header is not understood."))
        << line;
}

TEST_F(FileChecks, VtkWithNumbersThatAreNone)
{
  const std::string voxels = "SCALARS a unsigned_char\nLOOKUP_TABLE default\n" + numbers(24);
  const auto complainsOf = [&](const std::string& old, const std::string& line, const std::string& start) {
    std::string head = vtkHead;
    if (const std::size_t at = head.find(old); at != std::string::npos)
      head.erase(at, head.find('\n', at) + 1 - at);
    return complains(folder.write("a.vtk", head + line + voxels), start);
  };
  EXPECT_TRUE(complainsOf("ORIGIN", "ORIGIN 0,5 0 0\n", "origin: 0,5 is not a finite number."));
  EXPECT_TRUE(complainsOf("SPACING", "SPACING 1 1 x\n", "spacing: x is not a finite number."));
  EXPECT_TRUE(complainsOf("POINT_DATA", "POINT_DATA 9\n", "POINT_DATA 9 beside DIMENSIONS of 24 voxels."));
}

TEST_F(FileChecks, VoxelsOfTextThatTheirTypeDoesNotHold)
{
  const auto meta = [&](const std::string& type, const std::string& third) {
    return folder.write("a.mha", "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nBinaryData = False\n"
                                 "ElementType = MET_"
                                     + type + "\nElementDataFile = LOCAL\n1 2 " + third + " 4 5 6 7 8\n");
  };
  const auto vtk = [&](const std::string& type, const std::string& third) {
    return folder.write("a.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET STRUCTURED_POINTS\n"
                                 "DIMENSIONS 2 2 2\nSPACING 1 1 1\nORIGIN 0 0 0\nPOINT_DATA 8\nSCALARS a "
                                     + type + " 1\nLOOKUP_TABLE default\n1 2 " + third + " 4 5 6 7 8\n");
  };
  const auto nrrd = [&](const std::string& type, const std::string& third) {
    return folder.write("a.nrrd", "NRRD0004\ntype: " + type
                                      + "\ndimension: 3\nsizes: 2 2 2\nencoding: ascii\n\n1 2 " + third
                                      + " 4 5 6 7 8\n");
  };
  for (const std::string& good : {meta("FLOAT", "-3.5e0"), meta("SHORT", "3.0"), vtk("float", "3.25"),
                                  vtk("short", "-3"), nrrd("uchar", "255"), nrrd("float", "3.5")})
    EXPECT_EQ(messageOf([&] { loadedImage<3>(good); }), "no error") << good;
  for (const std::string wrong : {"nan", "inf", "1e60", "0x10", "3,5"}) {
    const std::string start =
        "voxel 3 is \"" + wrong + "\", which is no number that a voxel of its type holds.";
    EXPECT_TRUE(complains(meta("FLOAT", wrong), start));
    EXPECT_TRUE(complains(vtk("float", wrong), start));
  }
  EXPECT_TRUE(complains(meta("SHORT", "40000"), "voxel 3 is \"40000\""));
  EXPECT_TRUE(complains(meta("UINT", "-9"), "voxel 3 is \"-9\""));
  EXPECT_TRUE(complains(meta("SHORT", "3.5"), "voxel 3 is \"3.5\""));
  EXPECT_TRUE(complains(vtk("unsigned_char", "260"),
                        "voxel 3 is \"260\", which is no number that a voxel of its "
                        "type holds. Allowed: whole numbers from 0 to 255."));
  EXPECT_TRUE(complains(vtk("short", "3.0"), "voxel 3 is \"3.0\"")); // its library reads 3 and then 0
  EXPECT_TRUE(complains(nrrd("uchar", "260"), "voxel 3 is \"260\""));
  EXPECT_TRUE(complains(nrrd("short", "2.5"), "voxel 3 is \"2.5\""));
}

TEST_F(FileChecks, SizesThatTheFileCannotHoldAreRefusedWithTheHeader)
{
  const std::string size = "dimension: 3\nsizes: 1000 1000 600\nencoding: ", few = "1 2 3 4";
  for (const std::string encoding : {"raw", "gzip", "ascii", "hex"}) {
    const std::string path =
        folder.write("a.nrrd", "NRRD0004\ntype: uchar\n" + size + encoding + "\n\n" + few);
    EXPECT_TRUE(messageOf([&] { readImageHeader(path, {}); })
                    .ends_with("the file is too short for the 1000 x 1000 x 600 voxels of its header. "
                               "Allowed: a whole file; it may have been cut off while it was copied."))
        << encoding << messageOf([&] { readImageHeader(path, {}); });
  }
  const std::string meta =
      folder.write("a.mha", "ObjectType = Image\nNDims = 3\nDimSize = 1000 1000 600\nCompressedData = True\n"
                            "CompressedDataSize = 7\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
                                + few);
  EXPECT_PRED2(testing::contains, messageOf([&] { readImageHeader(meta, {}); }), "even if it is compressed");
  const std::string header{"\0\0\x75\x30\0\0\x75\x30\x08\0\0\0\0", 13}; // 30000 x 30000 grey voxels
  std::string png = "\x89PNG\r\n\x1a\n";
  for (const auto& [name, data] : {std::pair<std::string, std::string>{"IHDR", header},
                                   {"IDAT", std::string("\x78\x9c\x63\x60\x80\x01\0\0\x0a\0\x01", 11)},
                                   {"IEND", ""}}) {
    const std::string checked = name + data;
    const auto number = [](std::uint32_t value) {
      return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                         static_cast<char>(value >> 8), static_cast<char>(value)};
    };
    png += number(static_cast<std::uint32_t>(data.size())) + checked
           + number(static_cast<std::uint32_t>(
               crc32_z(0, reinterpret_cast<const unsigned char*>(checked.data()), checked.size())));
  }
  EXPECT_TRUE(complains(folder.write("a.png", png), "the picture is cut off or damaged."));
}

TEST_F(FileChecks, TheFirstBytesOfAJpeg)
{
  for (const std::string bytes : {"\xff\xd8", "\xff\xd8\xff"})
    EXPECT_TRUE(complains(folder.write("a.jpg", bytes), "the picture is cut off or damaged."));
}

}
}
