#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"

namespace tessera {

TESSERA_CUDA_ONLY void beginProfilerRange(const char* name);
TESSERA_CUDA_ONLY void endProfilerRange();

/// An NVTX range: it names, for profilers, what the host does while the object lives. It costs some
/// nanoseconds if no profiler runs, and nothing in a build without CUDA.
class Range {
public:
  explicit Range([[maybe_unused]] const char* name)
  {
    if constexpr (builtWithCuda)
      beginProfilerRange(name);
  }
  ~Range()
  {
    if constexpr (builtWithCuda)
      endProfilerRange();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}
