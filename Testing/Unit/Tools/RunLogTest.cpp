// needs: Tools
#include "Tools/Common/RunLog.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"

#include "Core/Compute/Error.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>

#include <sys/stat.h>

namespace tessera {
namespace {

class RunLogTest : public ::testing::Test {
protected:
  std::string fileText() const
  {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  testing::TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();
  std::string path = (folder / "elastix.log").string();
};

TEST_F(RunLogTest, TheFileHoldsEverythingWhateverTheTerminalShows)
{
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  RunLog log(LogLevel::off);
  log.openFile(path);

  log.info("a");
  log.detail("b");
  log.note("c");
  log.warning("d");
  log.error("e");
  log.finish();

  EXPECT_EQ(fileText(), "a\nb\nNOTE: c\nWARNING: d\nERROR: e\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(RunLogTest, WarningsGoToStderrAndInformationToStdout)
{
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  RunLog log;

  log.info("a");
  log.detail("details are for -v");
  log.warning("d");

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "WARNING: d\n");
}

TEST_F(RunLogTest, QuietKeepsWarnings)
{
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  RunLog log(LogLevel::warning);

  log.info("a");
  log.warning("d");

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "WARNING: d\n");
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
  try {
    log.openFile((folder / "none" / "elastix.log").string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::unwritableOutput);
  }
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

int exitCodeOf(const std::function<int(RunLog&)>& body)
{
  ::testing::internal::CaptureStderr();
  const int code = runProgram(body);
  ::testing::internal::GetCapturedStderr();
  return code;
}

TEST(RunProgram, TurnsWhatIsThrownIntoExitCodes)
{
  EXPECT_EQ(exitCodeOf([](RunLog&) { return 0; }), 0);
  EXPECT_EQ(exitCodeOf([](RunLog&) -> int { throw Error(ExitCode::unreadableInput, "x"); }), 3);
  EXPECT_EQ(exitCodeOf([](RunLog&) -> int { throw std::bad_alloc(); }), 6);
}

TEST(RunProgram, ASignalEndsWithItsOwnCode)
{
  watchSignals();
  std::raise(SIGTERM);

  EXPECT_EQ(caughtSignal(), SIGTERM);
  EXPECT_TRUE(stopAsked());
  EXPECT_EQ(exitCodeOf([](RunLog&) -> int { throw Interrupted{}; }), 143);
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
              "e\r\nsecond\tline");
  log.finish();

  const std::string shown = "WARNING: name ?]0;title? ? ?2J gr\xc3\xb6\xc3\x9f"
                            "e\nsecond\tline\n";
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
