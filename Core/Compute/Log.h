#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

enum class LogLevel { off, error, warning, info };
/// The kind of a line, which decides who sees it: details are for those who ask for more, notes and warnings
/// for everybody.
enum class LineKind { table, detail, note };

/// Takes the lines that a run tells its user. This class keeps the warnings and drops all else; programs have
/// one that writes to a file and a terminal. Several threads may log.
class Log {
public:
  Log() = default;
  virtual ~Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void info(const std::string& line) { write(LogLevel::info, line, LineKind::table); }
  void detail(const std::string& line) { write(LogLevel::info, line, LineKind::detail); }
  /// NOTE: line, as information; the same line once a run.
  void note(const std::string& line) { tellOnce(LogLevel::info, "NOTE", line, notes_); }
  /// WARNING: line; the same line once a run.
  void warning(const std::string& line) { tellOnce(LogLevel::warning, "WARNING", line, warnings_); }
  void error(const std::string& line) { write(LogLevel::error, "ERROR: " + line, LineKind::note); }
  /// Shows a line in place of the tables, where these are not shown.
  virtual void summary(const std::string&) {}
  /// Shows a line that the next one replaces.
  virtual void progress(const std::string&) {}

  const std::vector<std::string>& warnings() const { return warnings_; }

protected:
  virtual void write(LogLevel, const std::string&, LineKind) {}
  std::mutex mutex_; // held while a line is written

private:
  void tellOnce(LogLevel, const std::string& kind, const std::string& line, std::vector<std::string>& told);

  std::vector<std::string> notes_, warnings_;
};

/// The time in the form of elastix's log: "Sat Nov 21 10:27:06 2026".
std::string currentTime();

double secondsSince(std::chrono::steady_clock::time_point start);

/// `value` with a fixed number of decimals.
std::string decimals(double value, int count);
/// With so many significant digits, as %g writes them.
std::string significant(double value, int digits);

/// "1 thread", "2 threads"
std::string threadsText(int threads);

}
