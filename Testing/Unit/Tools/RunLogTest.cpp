// needs: Tools
#include "Tools/Common/RunLog.h"
#include "Tools/Common/Process.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
bool fileSystemHasLocks = true;
}

extern "C" int flock(int descriptor, int operation) // instead of the system's
{
  if (fileSystemHasLocks)
    return static_cast<int>(syscall(SYS_flock, descriptor, operation));
  errno = ENOLCK;
  return -1;
}

namespace tessera {
namespace {

class RunLogTest : public ::testing::Test {
protected:
  std::string fileText() const { return temporary.read("elastix.log"); }

  testing::TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();
  std::string path = (folder / "elastix.log").string();
};

TEST_F(RunLogTest, OnlyIndentedTextBeginsAFurtherLine)
{
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  RunLog log;

  log.info("a\nERROR: b\n  c\n");
  log.error("a\nERROR: b\n  c");

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a?ERROR: b\n  c?\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "ERROR: a?ERROR: b\n  c\n");
}

TEST_F(RunLogTest, AFullDiskIsToldAtTheEnd)
{
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "/dev/full is not there";
  RunLog log(LogLevel::off);
  log.openFile("/dev/full");
  log.info("a");

  EXPECT_THROW(log.finish(), Error);
}

TEST_F(RunLogTest, ControlCharactersReachNeitherTerminalNorFile)
{
  ::testing::internal::CaptureStderr();
  RunLog log;
  log.openFile(path);

  log.warning("name \x1b]0;title\x07 \x7f \xc2\x9b"
              "2J gr\xc3\xb6\xc3\x9f"
              "e\r\n  second\tline\r");
  log.finish();

  const std::string shown = "WARNING: name ?]0;title? ? ?2J gr\xc3\xb6\xc3\x9f"
                            "e\n  second\tline\n";
  EXPECT_EQ(fileText(), shown);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), shown);
}

TEST_F(RunLogTest, ALogIsWrittenToNoLinkAndNoPipe)
{
  const std::string target = (folder / "target").string();
  std::ofstream(target) << "kept";
  std::filesystem::create_symlink(target, path);
  EXPECT_EQ(testing::errorText([&] { RunLog().openFile(path); }, ExitCode::unwritableOutput),
            path + ": the log cannot be written through a link. Allowed: an output folder that is writable.");
  EXPECT_EQ(std::filesystem::file_size(target), 4u);

  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(RunLog().openFile(path), Error); // and does not wait for a reader
}

TEST_F(RunLogTest, ALogThatSomethingEmptiesHasNoHole)
{
  RunLog log(LogLevel::off);
  log.openFile(path);
  log.info("a");
  std::filesystem::resize_file(path, 0);
  log.info("b");

  EXPECT_EQ(fileText(), "b\n");
}

TEST_F(RunLogTest, AFileSystemWithoutLocksStopsNoRun)
{
  fileSystemHasLocks = false;
  RunLog first(LogLevel::off), second(LogLevel::off);
  first.openFile(path);
  second.openFile(path);
  fileSystemHasLocks = true;

  EXPECT_EQ(fileText(), "NOTE: " + path
                            + ": this file system has no locks; nothing stops a second run from writing to "
                              "the same folder.\n");
}

TEST(RunProgram, WhatTheSystemRefusesHasTheCodeOfItsKind)
{
  const auto codeOf = [](int failure) {
    return failureOf(std::make_exception_ptr(std::system_error(failure, std::generic_category()))).code;
  };
  EXPECT_EQ(codeOf(EAGAIN), 6);
  EXPECT_EQ(codeOf(ENOMEM), 6);
  EXPECT_EQ(codeOf(EMFILE), 6);
  EXPECT_EQ(codeOf(EIO), 3);
  EXPECT_EQ(codeOf(ENOENT), 4);
  EXPECT_EQ(codeOf(ENOSPC), 4);
  EXPECT_EQ(codeOf(ENAMETOOLONG), 2);
  EXPECT_EQ(codeOf(EDOM), 1);
}

}
}
