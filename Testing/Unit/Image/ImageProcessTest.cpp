// needs: ITK
#include "Core/Image/Files/ImageProcess.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include <unistd.h>

namespace tessera {
namespace {

/// The processes that a process has started.
std::vector<pid_t> childrenOf(pid_t process)
{
  const std::string id = std::to_string(process);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;)
    children.push_back(child);
  return children;
}

class ImageProcessTest : public ::testing::Test {
protected:
  ImageProcessTest()
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

TEST_F(ImageProcessTest, ImagesAreWhatThisProcessReads)
{
  const std::vector<std::string> names{"a.png", "a.jpg",  "a.tif", "a.bmp", "a.nii.gz",
                                       "a.mha", "a.nrrd", "a.vtk", "a.h5"};
  for (const std::string& name : names)
    writeImage(folder / name, image, PixelType::uint8, true);
  std::vector<std::vector<float>> voxels;
  std::vector<ImageHeader> headers;
  std::vector<std::vector<std::string>> allNotes;
  for (const std::string& name : names) {
    voxels.push_back(load(folder / name));
    headers.push_back(readImageHeader(folder / name, reading));
    allNotes.push_back(notes);
  }

  const ImageProcess process;
  for (const int round : {0, 1}) // of the same processes
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(load(folder / names[i]), voxels[i]) << names[i] << round;
      EXPECT_EQ(notes, allNotes[i]) << names[i];
      const ImageHeader header = readImageHeader(folder / names[i], reading);
      EXPECT_EQ(header.size, headers[i].size);
      EXPECT_EQ(header.spacingMm, headers[i].spacingMm);
      EXPECT_EQ(header.direction, headers[i].direction);
      EXPECT_EQ(header.typeInFile, headers[i].typeInFile);
      EXPECT_EQ(header.hasRanges, headers[i].hasRanges);
      EXPECT_EQ(header.isReadWhole, headers[i].isReadWhole);
    }
}

TEST_F(ImageProcessTest, ErrorsAndOptionsGoThrough)
{
  const std::string missing = testing::messageOf([&] { load(folder / "nope.png"); });
  writeImage(folder / "a.png", image, PixelType::uint8, false);

  const ImageProcess process;
  EXPECT_EQ(testing::errorText([&] { load(folder / "nope.png"); }, ExitCode::unreadableInput), missing);
  EXPECT_EQ(load(folder / "a.png"), image.voxels); // by a new process
  reading = {{}, false, {0.25}};
  EXPECT_EQ(readImageHeader(folder / "a.png", reading).spacingMm, (std::vector<double>{0.25, 0.25}));
}

TEST_F(ImageProcessTest, AProcessThatCrashesIsAnErrorOfItsImageAlone)
{
  writeImage(folder / "a.png", image, PixelType::uint8, false);
  const ImageProcess process;
  const std::unique_ptr<ImageSource> source = openImage(folder / "a.png", reading);
  const std::vector<pid_t> makers = childrenOf(getpid());
  ASSERT_EQ(makers.size(), 1u);
  const std::vector<pid_t> readers = childrenOf(makers[0]);
  ASSERT_EQ(readers.size(), 1u);
  kill(readers[0], SIGSEGV);

  std::vector<std::byte> bytes(source->byteCount());
  EXPECT_EQ(
      testing::errorText([&] { source->read(bytes.data(), 1, notes); }, ExitCode::unreadableInput),
      folder / "a.png"
          + ": the library that reads this format has crashed on it. Allowed: a whole file; it may have "
            "been cut off while it was copied.");
  EXPECT_EQ(load(folder / "a.png"), image.voxels);
}

TEST_F(ImageProcessTest, TransformFilesOfItkAreReadByIt)
{
  const std::vector<ItkTransform> transforms{
      {"AffineTransform_double_2_2", {1, 2}, {1, 0.25, -0.5, 1, 1e-300, 7}},
      {"TranslationTransform_double_2_2", {}, {3, 4}}};
  const std::string cut = folder.write("cut.tfm", "#Insight Transform File V1.0\nTransform: Affine");
  const std::string wrong = testing::messageOf([&] { readItkTransforms(cut); });
  const ImageProcess process;
  for (const std::string name : {"a.tfm", "a.h5"}) {
    writeItkTransforms(folder / name, transforms, false);
    EXPECT_EQ(readItkTransforms(folder / name), transforms) << name;
  }
  EXPECT_EQ(testing::errorText([&] { readItkTransforms(cut); }, ExitCode::unreadableInput), wrong);
  EXPECT_EQ(readItkTransforms(folder / "a.h5"),
            transforms); // by a new process, which waits for the next file

  const std::vector<pid_t> makers = childrenOf(getpid());
  ASSERT_EQ(makers.size(), 1u);
  for (const pid_t reader : childrenOf(makers[0]))
    kill(reader, SIGSEGV);
  EXPECT_EQ(
      testing::errorText([&] { readItkTransforms(folder / "a.h5"); }, ExitCode::unreadableInput),
      folder / "a.h5"
          + ": the library that reads this format has crashed on it. Allowed: a whole file; it may have "
            "been cut off while it was copied.");
  EXPECT_EQ(readItkTransforms(folder / "a.h5"), transforms);
}

TEST_F(ImageProcessTest, SeveralThreadsReadAtTheSameTime)
{
  writeImage(folder / "a.png", image, PixelType::uint8, false);
  const ImageProcess process;
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
