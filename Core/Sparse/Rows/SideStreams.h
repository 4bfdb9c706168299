#pragma once

#include "Core/Compute/Context.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera {

/// Streams beside that of a context, for kernels that do not depend on each other and do not fill the device.
class SideStreams {
public:
  explicit SideStreams(const Context&);
  ~SideStreams();
  SideStreams(SideStreams&&) noexcept;
  SideStreams& operator=(SideStreams&&) noexcept;

  /// Each launch receives a stream (a cudaStream_t); they all begin after what the context's stream was given
  /// before, and what it is given later begins after them.
  void run(const std::vector<std::function<void(void* stream)>>& launches);

private:
  struct State;
  std::unique_ptr<State> state_;
};

}
