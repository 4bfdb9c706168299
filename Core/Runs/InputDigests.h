#pragma once

#include "Core/Compute/Failure.h"
#include "Core/Runs/RunRecord.h"

#include <future>
#include <stop_token>
#include <vector>

namespace tessera {

/// The digests of a run's inputs, for its record. A thread of its own finds them while the run goes on.
class InputDigests {
public:
  explicit InputDigests(std::vector<RunInput>, FileDigest = digestOfFile);
  ~InputDigests() { stop(); }

  const std::vector<RunInput>& inputs() const { return inputs_; }
  void start();
  /// Waits for 50 ms at most. Call it after start().
  bool areFound() const;
  void stop() { stop_.request_stop(); }
  /// At the end of the run. One that failed waits for none: those that are not there yet are found for inputs
  /// of at most largestAfterFailure bytes, and for none after a signal.
  std::vector<InputDigest> of(const Failure&);

private:
  const std::vector<RunInput> inputs_;
  const FileDigest digestOfOne_;
  std::stop_source stop_;
  std::future<std::vector<InputDigest>> found_;
};

}
