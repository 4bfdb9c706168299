#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Error.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

namespace tessera {
namespace {

class AtomicFileTest : public ::testing::Test {
protected:
  testing::TemporaryFolder folder;
};

TEST_F(AtomicFileTest, TextReplacesWhatWasThere)
{
  folder.write("a.txt", "a longer text of yesterday");

  writeTextFile(folder / "a.txt", "today\n");

  EXPECT_EQ(folder.read("a.txt"), "today\n");
  EXPECT_EQ(folder.entryCount(), 1u);
}

TEST_F(AtomicFileTest, NothingAppearsBeforeCommitNorWithout)
{
  {
    AtomicFile file(folder / "a.txt");
    std::ofstream(file.temporaryPath()) << "half";
    EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  }
  EXPECT_EQ(folder.entryCount(), 0u);
}

TEST_F(AtomicFileTest, FilesBesideItComeAlong)
{
  AtomicFile file(folder / "a.mhd");
  std::ofstream(file.temporaryPath()) << "header";
  std::ofstream(std::filesystem::path(file.temporaryPath()).replace_extension(".raw")) << "data";

  file.commit();

  EXPECT_EQ(folder.read("a.mhd"), "header");
  EXPECT_EQ(folder.read("a.raw"), "data");
}

TEST_F(AtomicFileTest, FilesHaveTheUsualPermissions)
{
  const mode_t mask = umask(027);
  writeTextFile(folder / "a.txt", "text");
  umask(mask);

  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(folder / "a.txt").permissions()), 0640u);
}

TEST_F(AtomicFileTest, AFileOfTheWorkingFolderNeedsNoFolderInItsName)
{
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  writeTextFile("a.txt", "here");
  std::filesystem::current_path(before);

  EXPECT_EQ(folder.read("a.txt"), "here");
}

TEST_F(AtomicFileTest, AHeaderIsAwayWhileItsDataAreReplaced)
{
  folder.write("a.mhd", "old header");
  folder.write("a.raw", "old data");
  {
    AtomicFile file(folder / "a.mhd");
    std::ofstream(file.temporaryPath()) << "new header";
    const std::string data = std::filesystem::path(file.temporaryPath()).parent_path() / "a.raw";
    std::ofstream(data) << "new data";
    file.commit();
  }
  EXPECT_EQ(folder.read("a.mhd"), "new header");
  EXPECT_EQ(folder.read("a.raw"), "new data");
  EXPECT_EQ(folder.entryCount(), 2u);

  std::filesystem::remove(folder / "a.raw");
  std::filesystem::create_directories(folder / "a.raw/in the way"); // so that moving the data fails
  AtomicFile file(folder / "a.mhd");
  std::ofstream(file.temporaryPath()) << "third header";
  std::ofstream(std::filesystem::path(file.temporaryPath()).parent_path() / "a.raw") << "third data";
  EXPECT_THROW(file.commit(), Error);
  EXPECT_EQ(folder.read("a.mhd"), "new header");
}

TEST_F(AtomicFileTest, WhatAKilledProgramLeftIsRemovedAndNothingElse)
{
  const std::string left = folder / ".tessera-partial-killed", own = folder / "partial";
  for (const std::string& path : {left, own}) {
    std::filesystem::create_directory(path);
    std::ofstream(path + "/a.mha") << "half";
  }
  const AtomicFile used(folder / "b.mha");
  const std::string inUse = std::filesystem::path(used.temporaryPath()).parent_path();

  AtomicFile::removeAbandoned(folder.path());

  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(own + "/a.mha"));
  EXPECT_TRUE(std::filesystem::exists(inUse));
}

}
}
