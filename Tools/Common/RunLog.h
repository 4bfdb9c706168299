#pragma once

#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

enum class LogLevel { off, error, warning, info };

/// Throws Error(usage) unless the text is off, error, warning or info.
LogLevel logLevelOf(const std::string& text);

/// The log of one run: everything into a file once one is open, and to the terminal what the level lets
/// through (information to stdout, warnings and errors to stderr). Lines may come from several threads.
class RunLog {
public:
  explicit RunLog(LogLevel consoleLevel = LogLevel::info) : level_(consoleLevel) {}
  ~RunLog();

  void setConsoleLevel(LogLevel level) { level_ = level; }
  void setVerbose(bool verbose) { verbose_ = verbose; }
  /// Replaces the file. From then on a reader of standard output that goes away does not end the program, so
  /// that results are written. Throws Error(unwritableOutput).
  void openFile(const std::string& path);

  void info(const std::string& line);
  /// To the terminal only if verbose; always to the file.
  void detail(const std::string& line);
  void note(const std::string& line);    // NOTE: line, as information
  void warning(const std::string& line); // WARNING: line; the same line once a run
  void error(const std::string& line);   // ERROR: line

  /// A line that is overwritten by the next one, on stderr if that is a terminal; nowhere otherwise.
  void progress(const std::string& line);
  /// Throws Error(unwritableOutput) if the file could not take all that was logged.
  void finish();

  const std::vector<std::string>& warnings() const { return warnings_; }

private:
  void write(LogLevel level, const std::string& line, bool toConsole = true);
  void clearProgress();

  std::mutex mutex_; // one line at a time
  LogLevel level_;
  bool verbose_ = false, progressShown_ = false;
  std::chrono::steady_clock::time_point lastProgress_{};
  std::string path_;
  std::ofstream file_;
  std::vector<std::string> warnings_;
};

/// "Sat Nov 21 10:27:06 2026", as elastix's log writes it.
std::string currentTime();

double secondsSince(std::chrono::steady_clock::time_point start);

/// `value` with a fixed number of decimals.
std::string decimals(double value, int count);

}
