#pragma once

#include "Core/Compute/Log.h"

#include <chrono>
#include <string>
#include <string_view>

namespace tessera {

/// Whether other runs may write to the folder of the log at the same time.
enum class FolderUse { alone, shared };

/// The level of the text off, error, warning or info. Throws Error(usage) for any other.
LogLevel logLevelOf(const std::string& text);

/// The log of one run. Control characters, also line breaks, are shown as ?, but for a break with two blanks
/// behind it. All lines go to a file once it is open. Lines that the level allows also go to the
/// terminal: information to stdout, warnings and errors to stderr. Several threads may log.
class RunLog final : public Log {
public:
  explicit RunLog(LogLevel consoleLevel = LogLevel::info) : level_(consoleLevel) {}
  ~RunLog() override;

  void setConsoleLevel(LogLevel level) { level_ = level; }
  void setVerbose(bool verbose) { verbose_ = verbose; }
  /// Whether the terminal shows tables and other information of the log file, or summaries in their place.
  void setShowsTables(bool shows) { showsTables_ = shows; }
  bool isVerbose() const { return verbose_; }
  /// Creates or replaces the log file, and locks it until the run ends. A link or a pipe of that name is
  /// refused. From then on the program goes on if the reader of its standard output ends, so that results are
  /// still written. A folder that is shared has one log of all runs that write at the same time. Throws
  /// Error(unwritableOutput), also if another run has the lock; then nothing has changed.
  void openFile(const std::string& path, FolderUse = FolderUse::alone);

  /// Whether openFile() found that another run writes to the folder.
  bool folderIsBusy() const { return folderIsBusy_; }

  /// Shows a line that the next one overwrites, on stderr if it is a terminal; otherwise nowhere.
  void progress(const std::string& line) override;
  void summary(const std::string& line) override;
  /// Throws Error(unwritableOutput) if a line could not be written to the file.
  void finish();

private:
  void lockFile(FolderUse);
  [[noreturn]] void failToOpen(const std::string& wrong) const;
  void write(LogLevel level, const std::string& line, LineKind) override;
  void writeToFile(std::string_view bytes);
  void writeToTerminal(LogLevel, const std::string& line);
  void clearProgress();

  LogLevel level_;
  bool verbose_ = false, showsTables_ = true, progressShown_ = false, folderIsBusy_ = false;
  std::chrono::steady_clock::time_point lastProgress_{};
  std::string path_;
  int file_ = -1;   // descriptor
  int failure_ = 0; // errno of the first line that could not be written to the file
};

}
