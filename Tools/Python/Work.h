#pragma once

#include "Core/Compute/Failure.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Threads/Interruption.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace tessera::python {

namespace nb = nanobind;

/// How far a registration is. Stages, levels and iterations count from 0.
struct Progress {
  std::size_t stage = 0, stages = 1, level = 0, levels = 1, iteration = 0;
  double value = 0;                           // of the metric
  std::optional<std::size_t> iterations = {}; // of the level, at most; none: its optimizer counts none
  double seconds = 0;                         // since the run began
};

/// A failure on its way into a Python exception.
struct Failed {
  Failure failure;
};

class Work;

/// Keeps the lines of a run until Python takes them, and its progress.
class WorkLog final : public Log {
public:
  explicit WorkLog(Work& work) : work_(work) {}

  /// Whether anybody wants lines about iterations.
  bool tellsIterations() const;
  /// A line of another log.
  void take(LogLevel level, const std::string& line, LineKind kind) { write(level, line, kind); }
  void iteration(const std::string& line);
  void progressed(const Progress&);

private:
  void write(LogLevel, const std::string&, LineKind) override;

  Work& work_;
};

/// A computation on a thread of its own, which never takes the lock of the interpreter. Python waits for it
/// with that lock set free, and meanwhile looks for signals, lines of the log and progress.
class Work {
public:
  /// Makes the result for Python, with the lock of the interpreter.
  using Make = std::function<nb::object()>;
  using Body = std::function<Make(Work&)>;
  struct Line {
    int level; // of Python's logging
    std::string text;
  };

  /// `inputs` lives until the work has ended: arrays that the body reads. Lines below `leastLevel` are not
  /// kept. Throws Error(outOfMemory) where the system refuses a thread, and Error(usage) at the end of the
  /// interpreter.
  Work(nb::object inputs, int leastLevel, Body);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // For the body.
  WorkLog log{*this};
  Stop stop() const { return Stop(stopAsked_); }
  /// What there is although the work did not come to its end.
  void keepPartial(Make partial) { partial_ = std::move(partial); }

  // For Python.
  /// False: it still goes on after these seconds. Throws Failed in a process that was forked meanwhile.
  bool wait(double seconds);
  void askToStop() { stopAsked_ = true; }
  std::vector<Line> takeLines();
  std::optional<Progress> takeProgress();
  std::vector<std::string> warnings() const { return log.warnings(); }
  /// Of work that has ended. Throws Failed.
  nb::object result();
  nb::object partial();

  /// False: each of them still goes on after these seconds.
  static bool waitForOne(const std::vector<Work*>&, double seconds);
  /// Stops all work and waits for its end, and lets none begin after. Threads of Python that wait for work do
  /// so for ever.
  static void endAll();

private:
  friend class WorkLog;
  void run(const Body&);
  void requireOwnProcess() const;
  void waitForEnd();

  nb::object inputs_;
  const int leastLevel_;
  const pid_t process_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopAsked_{false};
  // Under the mutex of all work.
  bool hasEnded_ = false;
  std::vector<Line> lines_;
  std::optional<Progress> progress_;
  // Of the thread, until it has ended.
  Make make_, partial_;
  std::exception_ptr exception_;
  std::thread thread_;
};

}
