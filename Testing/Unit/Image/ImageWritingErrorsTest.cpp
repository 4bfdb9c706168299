#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <csignal>
#include <filesystem>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

using namespace testing;

class ImageWritingErrors : public ::testing::Test {
protected:
  testing::TemporaryFolder folder;
};

TEST(ImageWriting, FormatsAreRefusedForWhatTheyCannotHold)
{
  EXPECT_EQ(messageOf([] { checkWritable("xyz", 3, PixelType::int16); }),
            "image format \"xyz\": no such format. Allowed: mhd, mha, nii, nii.gz, hdr, img, nrrd, nhdr, "
            "vtk, gipl, gipl.gz, tif, tiff, png, jpg, jpeg, bmp, h5, hdf5, dcm.");
  EXPECT_EQ(messageOf([] { checkWritable("png", 3, PixelType::uint8); }),
            "image format \"png\": cannot hold an image of dimension 3. Allowed: the formats that can: mhd, "
            "mha, nii, nii.gz, hdr, img, nrrd, nhdr, vtk, gipl, gipl.gz, tif, tiff, h5, hdf5, dcm.");
  EXPECT_EQ(messageOf([] { checkWritable("png", 2, PixelType::int16); }),
            "image format \"png\": cannot hold pixels of type \"short\". Allowed: the types \"unsigned "
            "char\", \"unsigned short\", or the formats that can: mhd, mha, nii, nii.gz, hdr, img, nrrd, "
            "nhdr, vtk, tif, tiff, h5, hdf5, dcm.");
  EXPECT_EQ(messageOf([] { checkWritable("gipl", 3, PixelType::float32, 3); }),
            "image format \"gipl\": cannot hold 3 components a voxel. Allowed: the formats that can: mhd, "
            "mha, nii, nii.gz, hdr, img, nrrd, nhdr, vtk, tif, tiff, h5, hdf5.");
  EXPECT_EQ(exitCodeOf([] { checkWritable("xyz", 3, PixelType::int16); }), ExitCode::unwritableOutput);
}

TEST_F(ImageWritingErrors, PlacesThatCannotBeWrittenTo)
{
  const auto write = [&](const std::string& path) {
    return [=] { writeImage(path, byteNoise(), PixelType::int16, false); };
  };
  const std::string noFolder = folder / "missing/result.mhd";
  EXPECT_TRUE(messageOf(write(noFolder))
                  .starts_with(noFolder + ": there is no folder " + folder / "missing" + ". Allowed: "));
  std::filesystem::create_directory(folder / "taken.mhd");
  EXPECT_TRUE(messageOf(write(folder / "taken.mhd"))
                  .starts_with(folder / "taken.mhd" + ": this is a folder, not a file. Allowed: "));
  EXPECT_TRUE(messageOf(write("/proc/result.mhd"))
                  .starts_with("/proc/result.mhd: the folder cannot be written to ("));
  for (const std::string& path : {noFolder, folder / "taken.mhd", std::string("/proc/result.mhd")})
    EXPECT_EQ(exitCodeOf(write(path)), ExitCode::unwritableOutput);
}

/// Runs `write` where no file can grow beyond `limit` bytes, as on a disk that is full. Returns its exit
/// code.
template <class Write>
ExitCode exitCodeOnFullDisk(rlim_t limit, Write&& write)
{
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limits{limit, limit};
    setrlimit(RLIMIT_FSIZE, &limits);
    _exit(static_cast<int>(exitCodeOf(write)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::someRowsFailed;
}

TEST_F(ImageWritingErrors, AFullDiskLeavesNothing)
{
  for (const std::string& format : writableFormats())
    for (const bool compress : {false, true}) {
      const bool plane = format == "png" || format.starts_with("jp") || format == "bmp";
      const auto write = [&] {
        if (plane)
          writeImage(folder / ("image." + format),
                     Image<2>{testing::centredGeometry<2>({48, 40}, {1, 1}), byteNoise().voxels},
                     PixelType::uint8, compress);
        else
          writeImage(folder / ("image." + format), byteNoise(), PixelType::uint8, compress);
      };
      for (const rlim_t limit : {0, 900}) {
        SCOPED_TRACE(format + (compress ? ", compressed, " : ", ") + std::to_string(limit) + " bytes");

        EXPECT_EQ(exitCodeOnFullDisk(limit, write), ExitCode::unwritableOutput);

        EXPECT_EQ(folder.entryCount(), 0u);
      }
      EXPECT_EQ(exitCodeOnFullDisk(1 << 20, write), ExitCode::done) << format;
      for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        std::filesystem::remove(entry);
    }
}

TEST_F(ImageWritingErrors, AFullDiskLeavesTheFileThatWasThere)
{
  folder.write("image.nii.gz", "the result of yesterday");

  exitCodeOnFullDisk(500, [&] { writeImage(folder / "image.nii.gz", byteNoise(), PixelType::uint8, true); });

  EXPECT_EQ(folder.read("image.nii.gz"), "the result of yesterday");
  EXPECT_EQ(folder.entryCount(), 1u);
}

}
}
