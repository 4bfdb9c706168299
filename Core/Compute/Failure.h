#pragma once

#include <exception>
#include <string>

namespace tessera {

/// The exit code and the message of a run that did not end well.
struct Failure {
  int code = 0; // 128 + signal for a run that was interrupted or stopped
  std::string message;
};

/// The exit code and the message for any exception. `signal` is the one that made a run throw Interrupted; 0:
/// its caller stopped it.
Failure failureOf(const std::exception_ptr&, int signal = 0);

/// Whether the memory of this process is limited (ulimit -v).
bool memoryIsLimited();

/// Returns the end of a message about refused threads, "Allowed: ...", which says what a user may do.
std::string allowedThreads();

}
