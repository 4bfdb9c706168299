#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Performance/GpuRates.h"

namespace tessera {

/// Measures the context's GPU in less than ten seconds. Latencies come from chains of dependent operations of
/// one thread (Wong et al., "Demystifying GPU microarchitecture through microbenchmarking", ISPASS 2010),
/// rates from all multiprocessors at work. Memory for the measurements is at most a quarter of what is free.
/// Throws Error(device), and Error(outOfMemory) if not even 64 MB are free.
TESSERA_CUDA_ONLY GpuRates measureGpuRates(Context&);

}
