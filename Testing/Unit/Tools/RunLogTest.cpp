// needs: Tools
#include "Tools/Common/RunLog.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"

#include "Core/Compute/Error.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

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

}
}
