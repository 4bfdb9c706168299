// needs: ITK
#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <itkGDCMImageIO.h>
#include <itkMetaDataObject.h>

#include <cstdio>

namespace tessera {
namespace {

constexpr int width = 4, height = 3;

std::string decimals(std::initializer_list<double> values)
{
  std::string text;
  for (const double value : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.6f", text.empty() ? "" : "\\", value);
    text += number;
  }
  return text;
}

/// A slice of shorts `100 * value + voxel` whose rows run along x and columns along -z: a coronal plane.
void writeSlice(const std::string& path, double yMm, int value, const std::string& series)
{
  const itk::GDCMImageIO::Pointer io = itk::GDCMImageIO::New();
  auto& tags = io->GetMetaDataDictionary();
  const auto set = [&](const char* tag, const std::string& text) {
    itk::EncapsulateMetaData<std::string>(tags, tag, text);
  };
  set("0008|0008", "ORIGINAL\\PRIMARY\\AXIAL");
  set("0008|0016", "1.2.840.10008.5.1.4.1.1.2"); // CT Image Storage
  set("0008|0060", "CT");
  set("0008|103e", "Thorax " + series);
  set("0020|000d", "1.2.826.0.1.3680043.2.1125.1");
  set("0020|000e", "1.2.826.0.1.3680043.2.1125.1." + series);
  set("0020|0032", decimals({-20.5, yMm, 7.25}));
  set("0020|0037", decimals({1, 0, 0, 0, 0, -1}));
  set("0028|0030", decimals({1.5, 0.75})); // between rows, between columns
  std::vector<std::int16_t> voxels;
  for (int i = 0; i < width * height; ++i)
    voxels.push_back(static_cast<std::int16_t>(100 * value + i));
  io->SetFileName(path);
  io->SetKeepOriginalUID(true);
  io->SetNumberOfDimensions(3);
  const std::array<int, 3> size{width, height, 1};
  itk::ImageIORegion region(3);
  for (unsigned axis = 0; axis < 3; ++axis) {
    io->SetDimensions(axis, size[axis]);
    region.SetSize(axis, size[axis]);
  }
  io->SetSpacing(0, 0.75);
  io->SetSpacing(1, 1.5);
  io->SetOrigin(0, -20.5);
  io->SetOrigin(1, yMm);
  io->SetOrigin(2, 7.25);
  io->SetDirection(0, std::vector<double>{1, 0, 0});
  io->SetDirection(1, std::vector<double>{0, 0, -1});
  io->SetDirection(2, std::vector<double>{0, 1, 0});
  io->SetComponentType(itk::IOComponentEnum::SHORT);
  io->SetPixelType(itk::IOPixelEnum::SCALAR);
  io->SetNumberOfComponents(1);
  io->SetIORegion(region);
  io->Write(voxels.data());
}

class DicomFolder : public ::testing::Test {
protected:
  LoadedImage<3> load()
  {
    notes = readImageHeader(folder.path(), reading).notes;
    return readImage<3>(folder.path(), reading, notes);
  }

  testing::TemporaryFolder folder;
  std::vector<std::string> notes;
  ReadingOptions reading;
};

TEST_F(DicomFolder, SeveralSeriesAreRefusedAndListed)
{
  writeSlice(folder / "a.dcm", 0, 1, "1");
  writeSlice(folder / "b.dcm", 3, 2, "1");
  writeSlice(folder / "c.dcm", 0, 3, "2");

  const std::string message = testing::messageOf([&] { load(); });

  EXPECT_EQ(testing::exitCodeOf([&] { load(); }), ExitCode::unreadableInput);
  EXPECT_TRUE(message.starts_with(
      folder.path()
      + ": the folder holds 2 DICOM series. Allowed: --series with the UID or the description of one of "
        "them, or "
      + folder.path() + "/ and that name in place of the folder, for this image alone. The series are:"))
      << message;
  for (const char* line : {"\n  \"Thorax 1\", CT, 4 x 3 x 2 voxels, series 1.2.826.0.1.3680043.2.1125.1.1",
                           "\n  \"Thorax 2\", CT, 4 x 3 x 1 voxels, series 1.2.826.0.1.3680043.2.1125.1.2"})
    EXPECT_PRED2(testing::contains, message, line);
}

TEST_F(DicomFolder, ASeriesIsChosenByItsDescriptionOrItsUid)
{
  writeSlice(folder / "a.dcm", 0, 1, "1");
  writeSlice(folder / "b.dcm", 3, 2, "1");
  writeSlice(folder / "c.dcm", 0, 3, "2");
  for (const std::string name : {"Thorax 2", "1.2.826.0.1.3680043.2.1125.1.2"}) {
    reading = {{"another", name}, false, {}};
    EXPECT_EQ(load().image.voxels[0], 300) << name;
  }
  reading = {{"Thorax 1"}, false, {}};
  EXPECT_EQ(load().image.geometry.size[2], 2u);
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"Thorax 3"}, {"Thorax 1", "Thorax 2"}}) {
    reading = {names, false, {}};
    const std::string message = testing::messageOf([&] { load(); });
    EXPECT_PRED2(testing::contains, message,
                 ", --series names " + std::string(names.size() == 1 ? "0" : "2") + " of them");
  }
}

TEST_F(DicomFolder, APathNamesASeriesForOneImage)
{
  writeSlice(folder / "a.dcm", 0, 1, "1");
  writeSlice(folder / "b.dcm", 3, 2, "1");
  writeSlice(folder / "c.dcm", 0, 3, "2");
  reading = {{"Thorax 1"}, false, {}}; // holds for folders alone
  const std::string uid = "1.2.826.0.1.3680043.2.1125.1.2";

  EXPECT_EQ(readImage<3>(folder / "Thorax 1", reading, notes).image.geometry.size[2], 2u);
  EXPECT_EQ(readImage<3>(folder / "Thorax 2", reading, notes).image.voxels[0], 300);
  EXPECT_EQ(readImage<3>(folder / uid, reading, notes).image.voxels[0], 300);
  EXPECT_EQ(readImage<3>(folder / "c.dcm", reading, notes).image.voxels[0], 300); // a file is that file
  EXPECT_TRUE(notes.empty());

  const std::string wrong = folder / "Thorax 3";
  EXPECT_TRUE(testing::messageOf([&] { readImage<3>(wrong, reading, notes); })
                  .starts_with(wrong
                               + ": there is no such file, and its folder holds 2 DICOM series, the name is "
                                 "that of 0 of them. Allowed: --series"));
}

TEST_F(DicomFolder, TheOnlySeriesIsNotTakenForAnother)
{
  writeSlice(folder / "a.dcm", 0, 1, "1");

  EXPECT_EQ(readImage<3>(folder / "Thorax 1", reading, notes).image.voxels[0], 100);
  EXPECT_EQ(testing::exitCodeOf([&] { readImage<3>(folder / "Thorax 2", reading, notes); }),
            ExitCode::unreadableInput);
}

TEST_F(DicomFolder, MissingSlicesThatAreAllowedAreInterpolatedAndTheOthersLieInTheirPlaces)
{
  for (const int place : {0, 1, 2, 4, 7})
    writeSlice(folder / ("s" + std::to_string(place) + ".dcm"), 1.5 * place, place, "1");
  reading = {{}, true, {}};

  const Image<3> image = load().image;

  EXPECT_EQ(image.geometry.size[2], 8u);
  EXPECT_NEAR(image.geometry.spacingMm[2], 1.5, 1e-6);
  for (std::size_t place = 0; place < 8; ++place)
    for (const std::size_t voxel : {0, 7})
      EXPECT_EQ(image.voxels[place * width * height + voxel], static_cast<float>(100 * place + voxel));
  EXPECT_EQ(notes, std::vector<std::string>{folder.path()
                                            + ": 3 of 8 slices are missing; they are interpolated between "
                                              "their neighbours (--allow-missing-slices)"});
}

TEST_F(DicomFolder, MissingSlicesAreFoundWhereMostGapsAreDouble)
{
  for (const int place : {0, 1, 2, 3, 5, 7, 9, 11, 13})
    writeSlice(folder / ("s" + std::to_string(place) + ".dcm"), place, place, "1");

  EXPECT_TRUE(
      testing::messageOf([&] {
        readImageHeader(folder.path(), reading);
      }).starts_with(folder.path() + ": 5 slice(s) of the series are missing, whose slices are 1 mm "));
  reading = {{}, true, {}};
  const Image<3> image = load().image;
  ASSERT_EQ(image.geometry.size[2], 14u);
  for (std::size_t place = 0; place < 14; ++place)
    EXPECT_EQ(image.voxels[place * width * height], static_cast<float>(100 * place));
}

TEST_F(DicomFolder, TheOnlySeriesIsToldIfAnotherWasAskedFor)
{
  writeSlice(folder / "a.dcm", 0, 1, "1");
  writeSlice(folder / "b.dcm", 3, 2, "1");
  reading = {{"Thorax 1"}, false, {}};
  load();
  EXPECT_TRUE(notes.empty());
  reading = {{"Thorax 2"}, false, {}};
  load();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with(folder.path() + ": its only series is none of --series: \"Thorax 1\""))
      << notes[0];
}

}
}
