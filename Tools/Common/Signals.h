#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace tessera {

/// From now on the first SIGINT, SIGTERM or SIGHUP is only remembered; SIGINT or SIGTERM a second time ends
/// the program as it would have without this. SIGHUP stays ignored if it is.
void watchSignals();

/// The first of them that came, else 0.
int caughtSignal();
/// True once one of them came.
const std::atomic<bool>& stopAsked();

/// Thrown by a program's own steps, never out of a callback, once a signal has made it end early: an exit
/// code and a line of the log, but no Error, since nothing went wrong.
struct Interrupted {};

/// While this lives, SIGINT, SIGTERM or SIGHUP ends the program at once, with 128 + the signal, whatever its
/// threads are at; no scratch folder is left, and thus no file that is not whole. SIGHUP stays ignored if it
/// is. To be made before other threads.
class EndOnSignals {
public:
  /// `tell` has the last words, on a thread of its own.
  explicit EndOnSignals(std::function<void(int signal)> tell);
  ~EndOnSignals();
  EndOnSignals(const EndOnSignals&) = delete;
  EndOnSignals& operator=(const EndOnSignals&) = delete;

private:
  void watch();

  std::function<void(int)> tell_;
  std::atomic<bool> isOver_{false};
  std::thread watcher_;
};

}
