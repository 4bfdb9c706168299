// needs: ITK
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// The elements of a data set by their tags, encoded as explicit little endian (PS3.5, 7.1.2).
using Elements = std::map<std::uint32_t, std::string>;

std::string littleEndian(std::uint32_t number, std::size_t bytes)
{
  std::string text;
  for (std::size_t byte = 0; byte < bytes; ++byte)
    text += static_cast<char>(number >> (8 * byte));
  return text;
}

std::string encoded(std::uint32_t tag, const std::string& kind, std::string value)
{
  if (value.size() % 2 == 1)
    value += kind == "UI" || kind == "OB" ? '\0' : ' ';
  const bool isLong = kind == "SQ" || kind == "OW" || kind == "OB";
  return littleEndian(tag >> 16, 2) + littleEndian(tag & 0xffff, 2) + kind
         + (isLong ? std::string(2, '\0') : "") + littleEndian(std::uint32_t(value.size()), isLong ? 4 : 2)
         + value;
}

struct DataSet {
  Elements elements;

  DataSet& set(std::uint32_t tag, const std::string& kind, const std::string& value)
  {
    elements[tag] = encoded(tag, kind, value);
    return *this;
  }
  DataSet& number(std::uint32_t tag, std::uint32_t value) { return set(tag, "US", littleEndian(value, 2)); }
  DataSet& items(std::uint32_t tag, const std::vector<DataSet>& items)
  {
    std::string value;
    for (const DataSet& item : items)
      value +=
          littleEndian(0xe000fffe, 4) + littleEndian(std::uint32_t(item.bytes().size()), 4) + item.bytes();
    return set(tag, "SQ", value);
  }
  std::string bytes() const
  {
    std::string all;
    for (const auto& [tag, bytes] : elements)
      all += bytes;
    return all;
  }
};

const std::string ctFrames = "1.2.840.10008.5.1.4.1.1.2.1", dose = "1.2.840.10008.5.1.4.1.1.481.2",
                  segments = "1.2.840.10008.5.1.4.1.1.66.4", capture = "1.2.840.10008.5.1.4.1.1.7",
                  nuclear = "1.2.840.10008.5.1.4.1.1.20", straightAxes = "1\\0\\0\\0\\1\\0";
constexpr std::size_t columns = 3, rows = 2, sliceVoxels = columns * rows;

/// Images of 3 x 2 pixels of `bits` bits, as many as there are values of frames; voxel v of a frame is its
/// value + v.
DataSet images(const std::string& kind, const std::vector<int>& values, std::uint32_t bits = 16)
{
  std::string pixels;
  for (const int value : values)
    for (std::size_t voxel = 0; voxel < sliceVoxels; ++voxel)
      pixels += littleEndian(std::uint32_t(value) + std::uint32_t(voxel), bits / 8);
  DataSet set;
  set.set(0x00080016, "UI", kind).set(0x00080018, "UI", "1.2.3." + std::to_string(values.front() + 1000));
  set.set(0x00080060, "CS", "CT").set(0x0020000e, "UI", "1.2.4").set(0x0020000d, "UI", "1.2.5");
  set.number(0x00280002, 1)
      .set(0x00280004, "CS", "MONOCHROME2")
      .number(0x00280010, rows)
      .number(0x00280011, columns);
  set.number(0x00280100, bits).number(0x00280101, bits).number(0x00280102, bits - 1).number(0x00280103, 1);
  set.set(0x00280008, "IS", std::to_string(values.size()));
  return set.set(0x7fe00010, "OW", pixels);
}

DataSet group(std::uint32_t sequence, const DataSet& content)
{
  return DataSet().items(sequence, {content});
}

void join(DataSet& set, DataSet more)
{
  set.elements.merge(more.elements);
}

/// The functional groups of a frame at z, or at another position (PS3.3, C.7.6.16).
DataSet frameAt(const std::string& positionMm, const std::string& slope = "",
                const std::string& intercept = "0")
{
  DataSet frame = group(0x00209113, DataSet().set(0x00200032, "DS", positionMm));
  if (!slope.empty())
    join(frame, group(0x00289145, DataSet().set(0x00281052, "DS", intercept).set(0x00281053, "DS", slope)));
  return frame;
}

DataSet sharedGroups(const std::string& axes = straightAxes)
{
  DataSet shared = group(0x00209116, DataSet().set(0x00200037, "DS", axes));
  join(shared, group(0x00289110, DataSet().set(0x00280030, "DS", "2\\1.5")));
  return shared;
}

DataSet framesOf(const std::vector<int>& values, const std::vector<DataSet>& frames,
                 const std::string& kind = ctFrames)
{
  return images(kind, values).items(0x52009229, {sharedGroups()}).items(0x52009230, frames);
}

class DicomFrames : public ::testing::Test {
protected:
  void write(const std::string& name, const DataSet& set)
  {
    const std::string meta = encoded(0x00020010, "UI", "1.2.840.10008.1.2.1");
    folder.write(name, std::string(128, '\0') + "DICM"
                           + encoded(0x00020000, "UL", littleEndian(std::uint32_t(meta.size()), 4)) + meta
                           + set.bytes());
  }
  Image<3> read(const DataSet& set)
  {
    write("a.dcm", set);
    notes.clear();
    return readImage<3>(path, reading, notes).image;
  }
  /// The error of a file, without its beginning `FILE: `.
  std::string errorOf(const DataSet& set)
  {
    return testing::errorText([&] { read(set); }, ExitCode::unreadableInput).substr(path.size() + 2);
  }
  /// The first voxel of each slice.
  static std::vector<float> firstVoxels(const Image<3>& image)
  {
    std::vector<float> first;
    for (std::size_t voxel = 0; voxel < image.voxels.size(); voxel += sliceVoxels)
      first.push_back(image.voxels[voxel]);
    return first;
  }

  testing::TemporaryFolder folder;
  const std::string path = folder / "a.dcm";
  ReadingOptions reading;
  std::vector<std::string> notes;
};

using Values = std::vector<float>;

TEST_F(DicomFrames, ThatAreNoStackAreRefusedByTheirNumbers)
{
  const std::string oneVolume = " Allowed: one volume, each of its slices once.";
  EXPECT_EQ(errorOf(framesOf({1, 2, 3, 4}, {frameAt("0\\0\\0"), frameAt("0\\0\\2"), frameAt("0\\0\\2"),
                                            frameAt("0\\0\\4")})),
            "two slices lie at the same place: " + path + ", frame 2 and " + path + ", frame 3." + oneVolume);
  EXPECT_EQ(errorOf(framesOf({1, 2, 3, 4}, {frameAt("0\\0\\8"), frameAt("0\\0\\2"), frameAt("0\\0\\0"),
                                            frameAt("0\\0\\4")})),
            "1 slice(s) of the series are missing, whose slices are 2 mm apart: 1 between " + path
                + ", frame 4 and " + path
                + ", frame 1, which are 4 mm apart. Allowed: a complete series, or --allow-missing-slices, "
                  "which fills them in from their neighbours.");
  DataSet turned = frameAt("0\\0\\2");
  join(turned, sharedGroups("0\\1\\0\\-1\\0\\0"));
  EXPECT_EQ(errorOf(framesOf({1, 2}, {frameAt("0\\0\\0"), turned})),
            path + ", frame 2 is a slice of another direction (Image Orientation) than " + path + ", frame 1."
                + oneVolume);
  EXPECT_TRUE(errorOf(framesOf({1, 2, 3}, {frameAt("0\\0\\0"), frameAt("0\\0\\2")}))
                  .starts_with("it has 3 frames, and functional groups for 2."));
  EXPECT_TRUE(errorOf(images(capture, {1, 2, 3})).starts_with("its 3 frames do not say where they lie"));
}

TEST_F(DicomFrames, MissingFramesMayBeInterpolated)
{
  reading.allowMissingSlices = true;
  EXPECT_EQ(
      firstVoxels(read(framesOf({1, 3, 7}, {frameAt("0\\0\\0"), frameAt("0\\0\\2"), frameAt("0\\0\\6")}))),
      (Values{1, 3, 5, 7}));
}

TEST_F(DicomFrames, OfSeveralFilesAreOneStack)
{
  write("a.dcm", framesOf({0, 2}, {frameAt("0\\0\\0"), frameAt("0\\0\\4")}));
  write("b.dcm", framesOf({3, 1}, {frameAt("0\\0\\6"), frameAt("0\\0\\2")}));
  EXPECT_EQ(firstVoxels(readImage<3>(folder.path(), reading, notes).image), (Values{0, 1, 2, 3}));
}

TEST_F(DicomFrames, ASlopeThatIsNoNumberIsRefused)
{
  for (const std::string slope : {"1,5", "0.00"})
    EXPECT_EQ(testing::errorText(
                  [&] {
                    read(framesOf({1, 2}, {frameAt("0\\0\\0", "1"), frameAt("0\\0\\1", slope)}));
                  },
                  ExitCode::unreadableInput),
              path + ", frame 2: its rescale slope is \"" + slope + "\". Allowed: a number that is not 0.");
}

TEST_F(DicomFrames, OfADoseNeedOffsetsThatAreUnderstood)
{
  const auto doseAt = [](const std::string& offsetsMm) {
    DataSet set =
        images(dose, {100, 200, 300}, 32).set(0x3004000e, "DS", "0.5").set(0x00280030, "DS", "2\\1.5");
    set.set(0x00200032, "DS", "-20\\30\\-40").set(0x00200037, "DS", straightAxes);
    return offsetsMm.empty() ? set : set.set(0x3004000c, "DS", offsetsMm);
  };
  EXPECT_EQ(errorOf(doseAt("7\\9.5\\12")),
            "its Grid Frame Offset Vector begins with 7. Allowed: 0, or the z of Image Position.");
  EXPECT_TRUE(errorOf(doseAt("0\\2.5\\7.5")).starts_with("1 slice(s) of the series are missing"));
  EXPECT_TRUE(errorOf(doseAt("")).starts_with("its 3 frames do not say where they lie"));
  EXPECT_EQ(errorOf(images(dose, {100}, 32).set(0x3004000c, "DS", "0")),
            "its Grid Frame Offset Vector is \"0\" for 1 frame(s), which GDCM cannot read. Allowed: a number "
            "for each of at least two frames, or a file without this element.");
}

TEST_F(DicomFrames, OfNuclearMedicineAreInTheOrderOfTheirSliceVector)
{
  const auto slicesOf = [](const std::string& order) {
    DataSet set = images(nuclear, {1, 2, 3, 4}).set(0x00180088, "DS", "-4").set(0x00280030, "DS", "2\\1.5");
    set.items(0x00540022, {DataSet().set(0x00200032, "DS", "0\\0\\7").set(0x00200037, "DS", straightAxes)});
    return set.set(0x00540080, "US", order);
  };
  const Image<3> image = read(slicesOf(std::string("\1\0\3\0\2\0\4\0", 8)));
  EXPECT_EQ(firstVoxels(image), (Values{4, 2, 3, 1}));
  EXPECT_EQ(image.geometry.originMm, (Vec<3>{0, 0, -5}));
  EXPECT_EQ(readImageHeader(path, reading).notes,
            std::vector{
                path + ": its frames do not say where they lie; they are placed by Spacing Between Slices"});
  EXPECT_TRUE(
      errorOf(slicesOf(std::string("\1\0\2\0\1\0\2\0", 8))).starts_with("two slices lie at the same place"));
}

TEST_F(DicomFrames, VoxelsOfASegmentAreSharesOfOne)
{
  const std::vector<DataSet> frames{frameAt("0\\0\\2"), frameAt("0\\0\\0")};
  DataSet set = framesOf({0, 0}, frames, segments).number(0x00280103, 0).set(0x00620001, "CS", "BINARY");
  set.number(0x00280100, 1).number(0x00280101, 1).number(0x00280102, 0);
  set.set(0x7fe00010, "OB", std::string("\x95\x0b", 2)); // lowest bit first: 101010 01 1101
  EXPECT_EQ(read(set).voxels, (Values{0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0}));
  set.number(0x00280100, 8).number(0x00280101, 8).number(0x00280102, 7);
  set.set(0x00620001, "CS", "FRACTIONAL").number(0x0062000e, 250);
  set.set(0x7fe00010, "OB", std::string("\0\0\0\0\0\0\0\175\372\0\0\0", 12));
  EXPECT_EQ(read(set).voxels, (Values{0, 0.5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const auto ofSegment = [](const std::string& position, std::uint32_t number) {
    DataSet frame = frameAt(position);
    join(frame, group(0x0062000a, DataSet().number(0x0062000b, number)));
    return frame;
  };
  set.items(0x52009230, {ofSegment("0\\0\\2", 1), ofSegment("0\\0\\0", 2)});
  EXPECT_EQ(errorOf(set), "its frames belong to several segments. Allowed: a file with one segment.");
}

TEST_F(DicomFrames, ThatLackPixelsAreRefused)
{
  const auto lacks = [&](DataSet set, const std::string& kind, std::size_t bytes, const std::string& all) {
    EXPECT_EQ(errorOf(set.set(0x7fe00010, kind, std::string(bytes, '\1'))),
              "its Pixel Data has " + std::to_string(bytes) + " bytes of the " + all
                  + " of 3 x 2 pixels need. Allowed: " + wholeFile + ".");
  };
  lacks(images(capture, {1}), "OW", 10, "12 that 1 frame(s)");
  lacks(framesOf({1, 2}, {frameAt("0\\0\\0"), frameAt("0\\0\\1")}), "OW", 12, "24 that 2 frame(s)");
  lacks(images(dose, {100, 200}, 32).set(0x3004000e, "DS", "0.5").set(0x3004000c, "DS", "0\\1"), "OW", 46,
        "48 that 2 frame(s)");
  DataSet colours = images(capture, {1}, 8).number(0x00280002, 3).number(0x00280103, 0).number(0x00280006, 0);
  lacks(colours.set(0x00280004, "CS", "RGB"), "OB", 16, "18 that 1 frame(s)");
  lacks(colours.set(0x00280004, "CS", "YBR_FULL_422"), "OB", 10, "12 that 1 frame(s)");
  DataSet bits = framesOf({0, 0, 0}, {frameAt("0\\0\\0"), frameAt("0\\0\\1"), frameAt("0\\0\\2")}, segments);
  bits.number(0x00280103, 0).number(0x00280100, 1).number(0x00280101, 1).number(0x00280102, 0);
  lacks(bits, "OB", 2, "3 that 3 frame(s)");
}

TEST_F(DicomFrames, PixelSpacingIsReadFromEveryClassAndItsAbsenceIsTold)
{
  EXPECT_EQ(read(images(capture, {1}).set(0x00280030, "DS", "2\\1.5")).geometry.spacingMm,
            (Vec<3>{1.5, 2, 1}));
  EXPECT_TRUE(readImageHeader(path, reading).notes.empty());
  EXPECT_EQ(read(images(capture, {1})).geometry.spacingMm, (Vec<3>{1, 1, 1}));
  EXPECT_EQ(readImageHeader(path, reading).notes,
            std::vector{path + ": it has no Pixel Spacing; pixels of 1 mm are assumed"});
  const std::string radiograph = "1.2.840.10008.5.1.4.1.1.1";
  EXPECT_EQ(read(images(radiograph, {1}).set(0x00181164, "DS", "0.2\\0.2")).geometry.spacingMm[0], 0.2);
  EXPECT_EQ(readImageHeader(path, reading).notes,
            std::vector{path
                        + ": it has no Pixel Spacing; the size of its pixels, 0.2 mm, is that of another "
                          "element, in X-rays the size on the detector"});
}

TEST_F(DicomFrames, TheThicknessOfTheOnlySliceIsItsSpacing)
{
  DataSet set = images(capture, {1}).set(0x00280030, "DS", "2\\1.5").set(0x00180050, "DS", "5");
  EXPECT_EQ(read(set).geometry.spacingMm[2], 5);
  EXPECT_EQ(read(set.set(0x00180088, "DS", "1")).geometry.spacingMm[2], 1);
}

}
}
