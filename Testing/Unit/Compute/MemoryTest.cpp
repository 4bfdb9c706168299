#include "Core/Compute/Memory/Memory.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

/// Files of the system below a folder, as a container would see them.
struct System {
  testing::TemporaryFolder folder;

  void write(const std::string& path, const std::string& text) const
  {
    std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
    folder.write(path, text);
  }
  double available() const { return availableMemoryBytes(folder.path()); }
};

TEST(Memory, WithoutFilesNothingIsLimited)
{
  EXPECT_TRUE(std::isinf(System().available()));
}

TEST(Memory, CountsSwapSpaceAsFree)
{
  const System system;
  system.write("proc/meminfo", "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable:   20 kB\nSwapFree: 3 kB\n");
  EXPECT_EQ(system.available(), 23 * 1024);
}

TEST(Memory, AControlGroupLimitsWhatTheSystemHas)
{
  const System system;
  system.write("proc/meminfo", "MemAvailable: 1000 kB\n");
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  system.write("sys/fs/cgroup/job/step/memory.current", "4000\n");
  EXPECT_EQ(system.available(), 1000 * 1024);
  system.write("sys/fs/cgroup/job/memory.max", "9000\n");
  system.write("sys/fs/cgroup/job/memory.current", "5000\n");
  EXPECT_EQ(system.available(), 4000);
  system.write("sys/fs/cgroup/job/memory.stat",
               "anon 3000\ninactive_file 500\n"); // the system may drop these pages
  EXPECT_EQ(system.available(), 4500);
}

TEST(Memory, AControlGroupOfTheFirstVersionLimitsToo)
{
  const System system;
  system.write("proc/self/cgroup", "5:cpu,memory:/job\n3:cpuset:/\n");
  system.write("sys/fs/cgroup/memory/memory.limit_in_bytes",
               "8000\n"); // a container sees its own group as the root
  system.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9000\n");
  EXPECT_EQ(system.available(), 0);
  system.write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 2500\n");
  EXPECT_EQ(system.available(), 1500);
}

TEST(Memory, AskingForTooMuchTellsBothFigures)
{
  const std::string text =
      errorText([] { requireMemory(1e18, "a grid", "a coarser one"); }, ExitCode::outOfMemory);
  EXPECT_TRUE(text.starts_with("a grid: about 1e+09 GB of memory are needed, ")) << text;
  EXPECT_TRUE(text.ends_with(" GB are free. Allowed: a coarser one.")) << text;
  EXPECT_NO_THROW(requireMemory(1000, "a list", "a shorter one"));
}

TEST(Memory, SizesAreCountedBeyondTheRangeOfIntegers)
{
  const std::size_t size[] = {std::size_t(1) << 40, std::size_t(1) << 50, 3};
  EXPECT_EQ(extentCount(size), std::ldexp(3.0, 90));
  EXPECT_EQ(extentText(std::span(size).last(1)), "3");
  EXPECT_EQ(extentText(std::span(size).first(2)), "1099511627776 x 1125899906842624");
}

}
}
