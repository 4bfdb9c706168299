// needs: Tools
#include "Tools/Common/RunLog.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Interruption.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
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

TEST_F(RunLogTest, SummariesTakeThePlaceOfTables)
{
  ::testing::internal::CaptureStdout();
  RunLog log;
  log.openFile(path);
  log.summary("not yet");
  log.setShowsTables(false);
  log.info("a table");
  log.note("a note");
  log.summary("a summary");
  log.finish();

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "NOTE: a note\na summary\n");
  EXPECT_EQ(fileText(), "a table\nNOTE: a note\n");
}

TEST_F(RunLogTest, TheFileHoldsEverythingWhateverTheTerminalShows)
{
  const std::tuple<LogLevel, std::string, std::string> shown[] = {
      {LogLevel::off, "", ""},
      {LogLevel::warning, "", "WARNING: d\nERROR: e\n"},
      {LogLevel::info, "a\nNOTE: c\n", "WARNING: d\nERROR: e\n"}};
  for (const auto& [level, out, errors] : shown) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    RunLog log(level);
    log.openFile(path);
    log.info("a");
    log.detail("b"); // details are for -v
    log.note("c");
    log.warning("d");
    log.error("e");
    log.finish();

    EXPECT_EQ(::testing::internal::GetCapturedStdout(), out);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), errors);
    EXPECT_EQ(fileText(), "a\nb\nNOTE: c\nWARNING: d\nERROR: e\n");
  }
}

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

TEST_F(RunLogTest, NoProgressIsDrawnIntoAPipe)
{
  ::testing::internal::CaptureStderr();
  RunLog log;

  log.progress("level 1");

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(RunLogTest, ALogThatCannotBeMadeIsAnOutputError)
{
  RunLog log;
  EXPECT_EQ(testing::exitCodeOf([&] { log.openFile((folder / "none" / "elastix.log").string()); }),
            ExitCode::unwritableOutput);
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

TEST(LogLevel, OnlyElastixNamesAreKnown)
{
  EXPECT_EQ(logLevelOf("warning"), LogLevel::warning);
  EXPECT_THROW(logLevelOf("debug"), Error);
}

int codeOfRun(const std::function<int(RunLog&)>& body)
{
  ::testing::internal::CaptureStderr();
  const int code = runProgram(body);
  ::testing::internal::GetCapturedStderr();
  return code;
}

TEST(RunProgram, TurnsWhatIsThrownIntoExitCodes)
{
  EXPECT_EQ(codeOfRun([](RunLog&) { return 0; }), 0);
  EXPECT_EQ(codeOfRun([](RunLog&) -> int { throw Error(ExitCode::unreadableInput, "x"); }), 3);
  EXPECT_EQ(codeOfRun([](RunLog&) -> int { throw std::bad_alloc(); }), 6);
}

TEST(RunProgram, ASignalEndsWithItsOwnCode)
{
  watchSignals();
  std::raise(SIGTERM);

  EXPECT_EQ(caughtSignal(), SIGTERM);
  EXPECT_TRUE(stopAsked());
  EXPECT_EQ(codeOfRun([](RunLog&) -> int { throw Interrupted{}; }), 143);
}

TEST_F(RunLogTest, AMissingOutputFolderIsMade)
{
  const std::string made = prepareOutputFolder((folder / "a" / "b").string());

  EXPECT_EQ(made, (folder / "a" / "b").string() + "/");
  EXPECT_TRUE(std::filesystem::is_directory(made));
}

TEST_F(RunLogTest, AnOutputFolderThatIsAFileIsRefused)
{
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(prepareOutputFolder((folder / "file").string()), Error);
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

TEST_F(RunLogTest, ASecondRunCannotTakeTheLogOfOneThatGoesOn)
{
  RunLog second(LogLevel::off), third(LogLevel::off);
  {
    RunLog first(LogLevel::off);
    first.openFile(path);
    first.info("a");
    EXPECT_EQ(testing::errorText([&] { second.openFile(path); }, ExitCode::unwritableOutput),
              "-out: \"" + folder.string()
                  + "\": another run writes to this folder now. Allowed: a folder for each run, or to start "
                    "this one when the other has ended.");
    second.error("goes to no file");
    first.info("b");
    EXPECT_EQ(fileText(), "a\nb\n");
  }
  third.openFile(path);
  EXPECT_EQ(fileText(), "");
}

TEST_F(RunLogTest, RunsThatShareAFolderShareItsLog)
{
  RunLog first(LogLevel::off), second(LogLevel::off), third(LogLevel::off);
  first.openFile(path, FolderUse::shared);
  first.info("a");
  second.openFile(path, FolderUse::shared);
  second.info("b");
  first.info("c");

  EXPECT_EQ(fileText(), "a\nb\nc\n");
  EXPECT_THROW(third.openFile(path), Error);
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
