// needs: ITK
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"
#include "Tools/Decode/ItkImage.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

/// The processes of tessera-decode that wait or read.
std::vector<pid_t> decoders()
{
  const std::string id = std::to_string(getpid());
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;)
    children.push_back(child);
  return children;
}

void crashDecoders()
{
  for (const pid_t decoder : decoders()) {
    kill(decoder, SIGSEGV);
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(decoder), &ended, WEXITED | WNOWAIT);
  }
}

class DecoderTest : public ::testing::Test {
protected:
  DecoderTest()
  {
    for (float& value : image.voxels)
      value = std::clamp(std::floor(value), 0.0f, 255.0f);
  }

  std::vector<float> load(const std::string& path)
  {
    notes.clear();
    return readImage<2>(path, reading, notes).image.voxels;
  }

  testing::TemporaryFolder folder;
  Image<2> image = testing::noiseImage<2>({{40, 30}, {1, 1}, {0, 0}, identityMatrix<2>()}, 1);
  std::vector<std::string> notes;
  ReadingOptions reading;
};

TEST_F(DecoderTest, ImagesAreWhatItkReadsInThisProcess)
{
  const std::vector<std::string> names{"a.png", "a.jpg", "a.tif", "a.bmp",
                                       "a.vtk", "a.h5",  "a.hdr", "a.nhdr"};
  for (const std::string& name : names)
    writeImage(folder / name, image, PixelType::uint8, true);
  for (const int round : {0, 1}) // of the same processes
    for (const std::string& name : names) {
      const DecodedImage itk = openByItk(folder / name, reading);
      const auto ours = decodeImage(folder / name, reading);
      EXPECT_EQ(ours->header().size, itk.header.size) << name << round;
      EXPECT_EQ(ours->header().spacingMm, itk.header.spacingMm) << name;
      EXPECT_EQ(ours->header().direction, itk.header.direction) << name;
      EXPECT_EQ(ours->header().typeInFile, itk.header.typeInFile) << name;
      EXPECT_EQ(ours->header().notes, itk.header.notes) << name;
      std::vector<std::byte> expected(byteCountOf(itk.header)), voxels(ours->byteCount());
      itk.read(expected.data());
      ours->read(voxels.data(), 1);
      EXPECT_EQ(voxels, expected) << name;
      ours->read(voxels.data(), 2); // which opens it again
      EXPECT_EQ(voxels, expected) << name;
    }
}

TEST_F(DecoderTest, ErrorsAndOptionsGoThrough)
{
  const std::string missing = testing::messageOf([&] { openByItk(folder / "nope.png", reading); });
  writeImage(folder / "a.png", image, PixelType::uint8, false);

  EXPECT_EQ(testing::errorText([&] { load(folder / "nope.png"); }, ExitCode::unreadableInput), missing);
  EXPECT_EQ(load(folder / "a.png"), image.voxels); // by a new process
  reading = {{}, false, {0.25}};
  EXPECT_EQ(readImageHeader(folder / "a.png", reading).spacingMm, (std::vector<double>{0.25, 0.25}));
}

TEST_F(DecoderTest, AProcessThatCrashesIsAnErrorOfItsImageAlone)
{
  writeImage(folder / "a.png", image, PixelType::uint8, false);
  const std::unique_ptr<ImageSource> source = openImage(folder / "a.png", reading);
  crashDecoders();

  std::vector<std::byte> bytes(source->byteCount());
  EXPECT_EQ(testing::errorText([&] { source->read(bytes.data(), 1); }, ExitCode::unreadableInput),
            folder / "a.png"
                + ": the library that reads this format has crashed on it. Allowed: a whole file; it may "
                  "have been cut off while it was copied.");
  EXPECT_EQ(load(folder / "a.png"), image.voxels);
}

TEST_F(DecoderTest, TransformFilesOfItkAreReadByIt)
{
  const std::vector<ItkTransform> transforms{
      {"AffineTransform_double_2_2", {1, 2}, {1, 0.25, -0.5, 1, 1e-300, 7}},
      {"TranslationTransform_double_2_2", {}, {3, 4}}};
  const std::string cut = folder.write("cut.tfm", "#Insight Transform File V1.0\nTransform: Affine");
  const std::string wrong = testing::messageOf([&] { readItkTransforms(cut); });
  for (const std::string name : {"a.tfm", "a.h5"}) {
    writeItkTransforms(folder / name, transforms, false);
    EXPECT_EQ(readItkTransforms(folder / name), transforms) << name;
  }
  EXPECT_EQ(testing::errorText([&] { readItkTransforms(cut); }, ExitCode::unreadableInput), wrong);
  EXPECT_EQ(readItkTransforms(folder / "a.h5"),
            transforms); // by a new process, which waits for the next file

  crashDecoders();
  EXPECT_EQ(readItkTransforms(folder / "a.h5"), transforms);
}

TEST_F(DecoderTest, SeveralThreadsReadAtTheSameTime)
{
  writeImage(folder / "a.png", image, PixelType::uint8, false);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> read(4);
  for (std::vector<float>& voxels : read)
    threads.emplace_back([&] {
      std::vector<std::string> ofThread;
      for (int i = 0; i < 20; ++i)
        voxels = readImage<2>(folder / "a.png", reading, ofThread).image.voxels;
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::vector<float>& voxels : read)
    EXPECT_EQ(voxels, image.voxels);
}

}
}
