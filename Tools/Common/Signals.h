#pragma once

#include "Core/Compute/Log.h"

#include <atomic>
#include <functional>
#include <thread>

namespace tessera {

/// From now on the first SIGINT, SIGTERM or SIGHUP is only recorded, see caughtSignal(), also while an object
/// of EndOnSignals exists. A second SIGINT or SIGTERM ends the program as usual. SIGHUP stays ignored if it
/// was.
void watchSignals();

/// The first of these signals that has arrived, else 0.
int caughtSignal();
/// True once one of them came.
const std::atomic<bool>& stopAsked();

/// Call this once a program's results are whole, before it tells so: a signal changes nothing any more, and
/// only a second one ends the program as usual. If one was first, this waits for the end that it brings.
void settleEnd();

/// While an object exists, and until watchSignals(), SIGINT, SIGTERM or SIGHUP ends the program at once with
/// the exit code 128 + signal, whatever its threads are doing. Temporary folders are removed, and so all
/// incomplete files. SIGHUP stays ignored if it was. Must be created before other threads.
class EndOnSignals {
public:
  /// `report` is called before the end, by a thread of its own, the only one that can still write files.
  explicit EndOnSignals(std::function<void(int signal)> report);
  /// The report is an error of the log, and what `further` does.
  explicit EndOnSignals(Log&, std::function<void(int signal)> further = {});
  ~EndOnSignals();
  EndOnSignals(const EndOnSignals&) = delete;
  EndOnSignals& operator=(const EndOnSignals&) = delete;

private:
  void watch();

  std::function<void(int)> report_;
  std::atomic<bool> isOver_{false};
  std::thread watcher_;
};

}
