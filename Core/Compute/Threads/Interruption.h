#pragma once

#include <atomic>

namespace tessera {

/// Thrown once the work was asked to end early: an exit code and a line of the log, but no Error, since
/// nothing went wrong.
struct Interrupted {};

/// Tells work whether it was asked to end early. A value that whoever started the work sets, for example when
/// a signal has come; it must live as long as the work.
class Stop {
public:
  Stop() = default; // the work is never asked
  Stop(const std::atomic<bool>& asked) : asked_(&asked) {}

  bool isAsked() const { return asked_ && asked_->load(std::memory_order_relaxed); }
  /// Throws Interrupted if the work is to end. Parallel loops of a context call it before each chunk.
  void endIfAsked() const
  {
    if (isAsked())
      throw Interrupted{};
  }

private:
  const std::atomic<bool>* asked_ = nullptr;
};

}
