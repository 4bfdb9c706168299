#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Stream.h"

#include <cuda_runtime.h>

namespace tessera {

/// Throws Error(device) `doing: CUDA's words`, or Error(outOfMemory).
void checkCuda(cudaError_t, const char* doing);

/// The stream of a context on a CUDA device; makes its device the current one.
cudaStream_t cudaStreamOf(const Context&);

/// After a kernel launch: whether it was accepted.
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
