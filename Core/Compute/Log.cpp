#include "Core/Compute/Log.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace tessera {

void Log::tellOnce(LogLevel level, const std::string& kind, const std::string& line,
                   std::vector<std::string>& told)
{
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(told, line) != told.end())
      return;
    told.push_back(line);
  }
  write(level, kind + ": " + line, LineKind::note);
}

std::string currentTime()
{
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[64];
  std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &local);
  return text;
}

double secondsSince(std::chrono::steady_clock::time_point start)
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string decimals(double value, int count)
{
  char text[512];
  std::snprintf(text, sizeof text, "%.*f", count, value);
  return text;
}

std::string significant(double value, int digits)
{
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string threadsText(int threads)
{
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

}
