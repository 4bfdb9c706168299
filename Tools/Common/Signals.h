#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace tessera {

/// From now on the first SIGINT or SIGTERM is only remembered; the second ends the program as it would have without this.
void watchSignals();

/// SIGINT or SIGTERM if one came, else 0.
int caughtSignal();

/// While this lives, SIGINT or SIGTERM ends the program at once, with 128 + the signal, whatever its threads are at; no scratch
/// folder is left, and thus no file that is not whole. To be made before other threads.
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
