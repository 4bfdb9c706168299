#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"

#include <cstddef>

namespace tessera {

/// Memory of the host that others own, pinned as long as this lives: copies to and from a CUDA device then
/// run at the bus's rate. Pinning itself takes long: about as long as a copy of memory that is not pinned.
/// Throws Error(device).
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
