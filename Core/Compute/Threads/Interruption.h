#pragma once

#include <atomic>

namespace tessera {

/// True once a signal has asked the program to end: see watchSignals().
inline std::atomic<bool> stopIsAsked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may write nothing else");

/// Thrown once a signal has made the program end early: an exit code and a line of the log, but no Error,
/// since nothing went wrong.
struct Interrupted {};

/// Throws Interrupted if the program is to end. Called in each chunk of loops that take more than half a
/// second and are called by no loop that looks at stopIsAsked that often.
inline void endIfStopIsAsked()
{
  if (stopIsAsked.load(std::memory_order_relaxed))
    throw Interrupted{};
}

}
