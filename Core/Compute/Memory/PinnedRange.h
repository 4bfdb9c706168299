#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <cstddef>

namespace tessera {

/// Pins memory of the host that something else owns, as long as the object lives. Copies to and from a CUDA
/// device then run at the rate of the bus. Pinning takes about as long as a copy of memory that is not
/// pinned. Throws Error(device).
class PinnedRange {
public:
  TESSERA_CUDA_ONLY PinnedRange(const Context&, const void* memory, std::size_t bytes);
  TESSERA_CUDA_ONLY ~PinnedRange();
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;

private:
  void* memory_;
};

}
