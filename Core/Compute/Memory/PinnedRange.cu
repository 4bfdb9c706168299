#include "Core/Compute/Memory/PinnedRange.h"

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {

PinnedRange::PinnedRange(const Context& context, const void* memory, std::size_t bytes)
    : memory_(const_cast<void*>(memory))
{
  cudaStreamOf(context); // makes the context's device the current one
  checkCuda(cudaHostRegister(memory_, bytes, cudaHostRegisterDefault), "pinning memory");
}

PinnedRange::~PinnedRange()
{
  cudaHostUnregister(memory_);
}

}
