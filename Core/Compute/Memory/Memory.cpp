#include "Core/Compute/Memory/Memory.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/NumberIn.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr double worthAsking = 16 << 20; // a run does not fail for want of less

/// The number behind a name at the beginning of a line.
std::optional<double> numberAfter(const std::string& path, const std::string& name)
{
  for (const std::string& line : linesOf(readTextFile(path).text))
    if (const auto words = wordsOf(line); words.size() > 1 && words[0] == name)
      return numberIn<double>(words[1]);
  return std::nullopt;
}

/// The first word of a file as a number; nothing if the file has "max" or does not exist.
std::optional<double> firstNumber(const std::string& path)
{
  const std::vector<std::string> words = wordsOf(readTextFile(path).text);
  return words.empty() ? std::nullopt : numberIn<double>(words.front());
}

double leftOfSystem(const std::string& root)
{
  const std::string file = root + "/proc/meminfo";
  const std::optional<double> kilobytes = numberAfter(file, "MemAvailable:");
  return kilobytes ? (*kilobytes + numberAfter(file, "SwapFree:").value_or(0)) * 1024 : unlimited;
}

/// The names of the files in one version of control groups.
struct GroupFiles {
  const char *limit, *usage, *reclaimable;
};

double leftOfGroup(const std::string& folder, const GroupFiles& files)
{
  const std::optional<double> limit = firstNumber(folder + "/" + files.limit),
                              usage = firstNumber(folder + "/" + files.usage);
  if (!limit || !usage)
    return unlimited;
  return *limit - *usage + numberAfter(folder + "/memory.stat", files.reclaimable).value_or(0);
}

/// The memory left in a control group and in the groups around it, each of which limits what is in it. Inside
/// a container the path may name folders that are not visible.
double leftOfGroups(const std::string& mount, std::string group, const GroupFiles& files)
{
  double left = unlimited;
  while (true) {
    left = std::min(left, leftOfGroup(mount + group, files));
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos)
      return left;
    group.resize(slash);
  }
}

double leftOfControlGroups(const std::string& root)
{
  double left = unlimited;
  for (const std::string& line : linesOf(readTextFile(root + "/proc/self/cgroup").text)) {
    // id:controllers:/path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,")
      left = std::min(left, leftOfGroups(root + "/sys/fs/cgroup", group,
                                         {"memory.max", "memory.current", "inactive_file"}));
    else if (controllers.find(",memory,") != std::string::npos)
      left = std::min(
          left, leftOfGroups(root + "/sys/fs/cgroup/memory", group,
                             {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}));
  }
  return left;
}

double leftOfAddressSpace(const std::string& root)
{
  rlimit limit{};
  const std::optional<double> pages = firstNumber(root + "/proc/self/statm");
  if (!pages || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return unlimited;
  return static_cast<double>(limit.rlim_cur) - *pages * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

std::string gigabytes(double bytes)
{
  if (bytes < 1e8)
    return memoryText(bytes);
  char text[64];
  std::snprintf(text, sizeof text, bytes < 1e15 ? "%.1f GB" : "%.2g GB", bytes / 1e9);
  return text;
}

}

double availableMemoryBytes(const std::string& root)
{
  return std::max(0.0, std::min({leftOfSystem(root), leftOfControlGroups(root), leftOfAddressSpace(root)}));
}

void requireMemory(double bytes, const std::string& what, const std::string& allowed)
{
  if (bytes < worthAsking)
    return;
  const double available = availableMemoryBytes();
  if (bytes > available)
    failAs(ExitCode::outOfMemory, what,
           "about " + gigabytes(bytes) + " of memory are needed, " + gigabytes(available) + " are free",
           allowed);
}

void giveFreedMemoryBack()
{
  constexpr int smallBytes = 32 << 10;
  mallopt(M_MMAP_THRESHOLD, smallBytes); // larger arrays get pages of their own
}

void keepFreedMemory()
{
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

std::string extentText(std::span<const std::size_t> size)
{
  return joined(size, " x ", [](std::size_t length) { return std::to_string(length); });
}

double extentCount(std::span<const std::size_t> size)
{
  double count = 1;
  for (const std::size_t length : size)
    count *= static_cast<double>(length);
  return count;
}

}
