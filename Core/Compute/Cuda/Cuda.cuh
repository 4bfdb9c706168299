#pragma once

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"

#include <cuda_runtime.h>

namespace tessera {

/// Throws Error(device) with `doing` and CUDA's own message, or Error(outOfMemory).
void checkCuda(cudaError_t, const char* doing);

/// The stream of a context on a CUDA device; makes its device the current one.
cudaStream_t cudaStreamOf(const Context&);

/// Throws if the kernel launch before it was not accepted.
inline void checkLaunch(const char* kernel)
{
  checkCuda(cudaGetLastError(), kernel);
}

template <class T>
__host__ __device__ constexpr T ceilDiv(T a, T b)
{
  return (a + b - 1) / b;
}

}
