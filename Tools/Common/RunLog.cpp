#include "Tools/Common/RunLog.h"

#include "Core/Compute/ControlCharacters.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/FolderLock.h"
#include "Tools/Common/StandardOutput.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
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

/// Names and values of files and command lines may hold bytes on which a terminal acts, or a line that looks
/// like one of the program: control characters become ?. Tabs stay, and so do line breaks with two blanks
/// behind them, which begin a further line of a message.
std::string printable(const std::string& text)
{
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] == '\n'))
      continue;
    const bool stays = text[i] == '\t' || (text[i] == '\n' && text.compare(i + 1, 2, "  ") == 0);
    const std::size_t control = stays ? 0 : controlLength(text, i);
    shown += control > 0 ? '?' : text[i];
    i += control > 0 ? control - 1 : 0;
  }
  return shown;
}

}

LogLevel logLevelOf(const std::string& text)
{
  constexpr std::array<const char*, 4> names{"off", "error", "warning", "info"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i])
      return static_cast<LogLevel>(i);
  failAs(ExitCode::usage, "-loglevel", "\"" + text + "\": no such level", "off, error, warning, info");
}

RunLog::~RunLog()
{
  clearProgress();
  if (file_ >= 0)
    close(file_);
}

void RunLog::failToOpen(const std::string& wrong) const
{
  failAs(ExitCode::unwritableOutput, path_, "the log cannot be written" + wrong,
         "an output folder that is writable");
}

void RunLog::openFile(const std::string& path, FolderUse use)
{
  std::signal(SIGPIPE, SIG_IGN); // results are still written if nobody reads standard output any more
  path_ = path;
  if (file_ >= 0)
    close(file_);
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  struct stat status {};
  if (file_ < 0)
    failToOpen(errno == ELOOP ? " through a link" : " (" + std::string(std::strerror(errno)) + ")");
  if (fstat(file_, &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)))
    failToOpen(" to something that is no file");
  if (S_ISREG(status.st_mode))
    lockFile(use);
}

void RunLog::lockFile(FolderUse use)
{
  const bool isShared = use == FolderUse::shared;
  LockResult lock =
      lockDescriptor(file_, LockKind::exclusive, isShared ? std::chrono::milliseconds{0} : lockPatience);
  if (lock != LockResult::busy && ftruncate(file_, 0) != 0)
    failToOpen(" (" + std::string(std::strerror(errno)) + ")");
  if (isShared && lock != LockResult::unsupported)
    lock = lockDescriptor(file_, LockKind::shared);
  if (lock == LockResult::busy) {
    close(std::exchange(file_, -1)); // the other run's log
    folderIsBusy_ = true;
    failBusyFolder(std::filesystem::path(path_).parent_path().string());
  }
  if (lock == LockResult::unsupported)
    note(path_
         + ": this file system has no locks; nothing stops a second run from writing to the same folder.");
}

void RunLog::write(LogLevel level, const std::string& given, LineKind kind)
{
  const std::string line = printable(given);
  const std::lock_guard lock(mutex_);
  if (file_ >= 0)
    writeToFile(line + "\n");
  if ((kind == LineKind::detail && !verbose_) || (kind == LineKind::table && !showsTables_))
    return;
  writeToTerminal(level, line);
}

void RunLog::summary(const std::string& line)
{
  const std::lock_guard lock(mutex_);
  if (!showsTables_)
    writeToTerminal(LogLevel::info, printable(line));
}

void RunLog::writeToTerminal(LogLevel level, const std::string& line)
{
  if (level > level_)
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

void RunLog::writeToFile(std::string_view bytes)
{
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      failure_ = failure_ != 0 ? failure_ : errno;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
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
  std::fputs(("\r\033[K" + printable(line)).c_str(), stderr);
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
  if (failure_ != 0)
    failAs(ExitCode::unwritableOutput, path_,
           std::string("the log could not be written to its end (") + std::strerror(failure_) + ")",
           "a disk with room left");
}

}
