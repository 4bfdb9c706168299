// needs: Tools
#include "Tools/Common/Signals.h"

#include "Core/Compute/ScratchFolder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace tessera {
namespace {

[[noreturn]] void tellAndGo(int signal, const std::string& folder)
{
  const EndOnSignals ending([](int which) { std::fprintf(stderr, "ended by %d", which); });
  const ScratchFolder scratch(folder, ".tessera-partial-");
  std::ofstream(scratch / "half.nii") << "half";
  kill(getpid(), signal);
  while (true)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

TEST(EndOnSignals, EndTheProgramAtOnceAndLeaveNothingThatIsNotWhole)
{
  const std::string folder = ::testing::TempDir() + "tessera-signals-" + std::to_string(getpid()); // no scratch folder itself
  std::filesystem::create_directory(folder);
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(tellAndGo(signal, folder), ::testing::ExitedWithCode(128 + signal), "^ended by " + std::to_string(signal) + "$");
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << signal;
  }
  std::filesystem::remove_all(folder);
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
