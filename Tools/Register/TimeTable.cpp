#include "Tools/Register/TimeTable.h"

#include <cstdio>

namespace tessera {

std::vector<std::string> timeTableLines(const LevelSummary& summary)
{
  const double totalMs = 1000 * summary.seconds;
  std::vector<std::string> lines{
      "Time of resolution " + std::to_string(summary.level)
      + " by parts (evaluations are measured whole, and split as one that was timed part by part):"};
  const auto add = [&](const std::string& part, double ms, const std::string& device) {
    char line[128];
    std::snprintf(line, sizeof line, "  %-34s %12.3f ms %6.1f %%  %s", part.c_str(), ms,
                  totalMs > 0 ? 100 * ms / totalMs : 0, device.c_str());
    lines.emplace_back(line);
  };
  for (const TimeRow& row : summary.time)
    add(row.part, row.milliseconds, row.device);
  add("total", totalMs, "");
  while (lines.back().back() == ' ')
    lines.back().pop_back();
  return lines;
}

}
