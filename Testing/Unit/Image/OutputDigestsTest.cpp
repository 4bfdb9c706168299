#include "Core/Image/Files/OutputDigests.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/Sha256.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>

namespace tessera {
namespace {

class OutputDigestsTest : public ::testing::Test {
protected:
  testing::TemporaryFolder folder;
  OutputDigests digests;
};

TEST_F(OutputDigestsTest, FilesOfEveryKindHaveTheirDigestsWhenTheyAreWritten)
{
  const ImageGeometry<3> grid{{91, 80, 70}, {1, 1, 1}};
  std::vector<std::int16_t> voxels(grid.voxelCount());
  for (std::size_t i = 0; i < voxels.size(); ++i)
    voxels[i] = static_cast<std::int16_t>(i * i % 1009);
  for (const bool compress : {false, true})
    for (const std::string ending : {".nii", ".nii.gz", ".mha", ".nrrd"}) {
      const std::string path = folder / ((compress ? "compressed" : "plain") + ending);
      SCOPED_TRACE(path);
      writeStoredImage<3>(path, grid, PixelType::int16, 1, std::as_bytes(std::span(voxels)), compress, 2,
                          &digests);
      EXPECT_EQ(digests.of(path), digestOfFile(path));
    }
}

TEST_F(OutputDigestsTest, AFileThatWasFollowedIsNotOpenedAgain)
{
  const std::string path = folder / "a.txt", text(9 << 20, 'x');
  Sha256 expected;
  std::ofstream file(path);
  std::promise<void> isWhole = digests.follow("b.txt", path);
  for (int i = 0; i < 3; ++i)
    for (const std::string& piece : {text, std::string("and more\n")}) {
      file << piece << std::flush;
      expected.add(piece);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  std::filesystem::remove(path);
  isWhole.set_value();
  digests.read({"b.txt"});

  EXPECT_EQ(digests.of("b.txt"), expected.hexadecimal());
}

TEST_F(OutputDigestsTest, AFileThatIsGivenUpIsReadIfThereIsAnother)
{
  const std::string path = folder.write("a.txt", "begun");
  {
    const std::promise<void> dropped = digests.follow(path, path);
  }
  digests.wait();
  folder.write("a.txt", "another");

  EXPECT_EQ(digests.of(path), digestOfFile(path));
}

TEST_F(OutputDigestsTest, FilesThatWereNotFollowedAreReadOnce)
{
  const std::string path = folder.write("a.txt", "first");
  const std::string digest = digestOfFile(path);
  digests.read({path});
  digests.wait();
  folder.write("a.txt", "second");
  digests.read({path});

  EXPECT_EQ(digests.of(path), digest);
}

TEST_F(OutputDigestsTest, FewOpenFilesAreLeftToOthers)
{
  const std::string path = folder.write("a.txt", "first");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{63, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  digests.follow(path, path).set_value();
  setrlimit(RLIMIT_NOFILE, &before);
  folder.write("a.txt", "second");

  EXPECT_EQ(digests.of(path), digestOfFile(path)); // so the file was not followed
}

}
}
