#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera {

/// Further streams beside that of a context, for kernels that are independent of each other and too small to
/// fill the device.
class SideStreams {
public:
  TESSERA_CUDA_ONLY explicit SideStreams(const Context&);
  TESSERA_CUDA_ONLY ~SideStreams();
  SideStreams(SideStreams&&) noexcept;
  SideStreams& operator=(SideStreams&&) noexcept;

  /// Calls each launch with a stream (a cudaStream_t). The launched work begins after all work that was
  /// enqueued on the context's stream before; work that is enqueued there later begins after it.
  void run(const std::vector<std::function<void(void* stream)>>& launches);

private:
  struct State;
  std::unique_ptr<State> state_;
};

}
