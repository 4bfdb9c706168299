// needs: Tools
#include "Tools/Common/Signals.h"

#include "Core/Compute/Files/ScratchFolder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

namespace tessera {
namespace {

/// Raises the signals one after the other until one of them ends the program.
[[noreturn]] void tellAndGo(const std::vector<int>& signals, const std::string& folder,
                            sighandler_t onHangup = SIG_DFL)
{
  std::signal(SIGHUP, onHangup); // whatever the tests were started with
  const EndOnSignals ending([](int which) { std::fprintf(stderr, "ended by %d", which); });
  const ScratchFolder scratch(folder, ".tessera-partial-");
  std::ofstream(scratch / "half.nii") << "half";
  for (const int signal : signals)
    kill(getpid(), signal);
  while (true)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

TEST(EndOnSignals, EndTheProgramAtOnceAndLeaveNothingThatIsNotWhole)
{
  const std::string folder =
      ::testing::TempDir() + "tessera-signals-" + std::to_string(getpid()); // no scratch folder itself
  std::filesystem::create_directory(folder);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(tellAndGo({signal}, folder), ::testing::ExitedWithCode(128 + signal),
                "^ended by " + std::to_string(signal) + "$");
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << signal;
  }
  std::filesystem::remove_all(folder);
}

TEST(EndOnSignals, LeaveAHangupIgnoredThatIsIgnored)
{
  EXPECT_EXIT(tellAndGo({SIGHUP, SIGTERM}, ::testing::TempDir(), SIG_IGN),
              ::testing::ExitedWithCode(128 + SIGTERM), "^ended by " + std::to_string(SIGTERM) + "$");
}

TEST(EndOnSignals, ChangeNothingOnceTheResultsAreWholeUnlessAskedTwice)
{
  const auto settled = [](int signals) {
    {
      const EndOnSignals ending([](int) { std::fprintf(stderr, "told"); });
      settleEnd();
      for (int i = 0; i < signals; ++i) {
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(200)); // they are two requests
      }
    }
    std::exit(0);
  };

  EXPECT_EXIT(settled(1), ::testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(settled(2), ::testing::ExitedWithCode(128 + SIGTERM), "^$");
}

TEST(WatchSignals, TheFirstCountsAndAHangupMayComeTwice)
{
  const auto caughtFirst = [] {
    std::signal(SIGHUP, SIG_DFL);
    watchSignals();
    for (const int signal : {SIGHUP, SIGHUP, SIGTERM})
      std::raise(signal);
    std::exit(128 + caughtSignal());
  };
  const auto caughtIgnored = [] {
    std::signal(SIGHUP, SIG_IGN);
    watchSignals();
    std::raise(SIGHUP);
    std::exit(caughtSignal());
  };

  EXPECT_EXIT(caughtFirst(), ::testing::ExitedWithCode(128 + SIGHUP), "");
  EXPECT_EXIT(caughtIgnored(), ::testing::ExitedWithCode(0), "");
}

TEST(EndOnSignals, IsOverWithItsObject)
{
  const auto afterwards = [] {
    { // done before a signal came
      const EndOnSignals ending([](int) {});
    }
    std::raise(SIGTERM);
  };

  EXPECT_EXIT(afterwards(), ::testing::KilledBySignal(SIGTERM), "");
}

}
}
