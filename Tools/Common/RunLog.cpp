#include "Tools/Common/RunLog.h"

#include "Core/Compute/Error.h"
#include "Tools/Common/StandardOutput.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace tessera {
namespace {

bool terminalShowsProgress()
{
  static const bool shows = [] {
    const char* terminal = std::getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && std::string(terminal) != "dumb" && !std::getenv("CI");
  }();
  return shows;
}

}

LogLevel logLevelOf(const std::string& text)
{
  constexpr std::array<const char*, 4> names{"off", "error", "warning", "info"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i])
      return static_cast<LogLevel>(i);
  throw Error(ExitCode::usage,
              "-loglevel: \"" + text + "\": no such level. Allowed: off, error, warning, info.");
}

RunLog::~RunLog()
{
  clearProgress();
}

void RunLog::openFile(const std::string& path)
{
  std::signal(SIGPIPE, SIG_IGN); // results are still written if nobody reads standard output any more
  path_ = path;
  file_ = std::ofstream(path);
  if (!file_)
    throw Error(ExitCode::unwritableOutput,
                path + ": the log cannot be written. Allowed: an output folder that is writable.");
}

void RunLog::info(const std::string& line)
{
  write(LogLevel::info, line);
}

void RunLog::detail(const std::string& line)
{
  write(LogLevel::info, line, verbose_);
}

void RunLog::note(const std::string& line)
{
  write(LogLevel::info, "NOTE: " + line);
}

void RunLog::warning(const std::string& line)
{
  if (std::find(warnings_.begin(), warnings_.end(), line) != warnings_.end())
    return;
  warnings_.push_back(line);
  write(LogLevel::warning, "WARNING: " + line);
}

void RunLog::error(const std::string& line)
{
  write(LogLevel::error, "ERROR: " + line);
}

void RunLog::write(LogLevel level, const std::string& line, bool toConsole)
{
  const std::lock_guard lock(mutex_);
  if (file_.is_open())
    file_ << line << std::endl;
  if (!toConsole || level > level_)
    return;
  clearProgress();
  if (level == LogLevel::info) {
    putStandardOutput(line + "\n");
    flushStandardOutput();
    return;
  }
  std::fputs((line + "\n").c_str(), stderr);
  std::fflush(stderr);
}

void RunLog::progress(const std::string& line)
{
  if (!terminalShowsProgress() || level_ < LogLevel::warning)
    return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (progressShown_ && now - lastProgress_ < std::chrono::milliseconds(100))
    return;
  lastProgress_ = now;
  progressShown_ = true;
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
}

void RunLog::clearProgress()
{
  if (!progressShown_)
    return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  progressShown_ = false;
}

void RunLog::finish()
{
  clearProgress();
  if (file_.is_open() && !file_.flush())
    throw Error(ExitCode::unwritableOutput,
                path_ + ": the log could not be written to its end. Allowed: a disk with room left.");
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

}
