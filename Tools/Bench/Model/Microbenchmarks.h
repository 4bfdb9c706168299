#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Tools/Bench/Model/GpuRates.h"

#include <string>
#include <vector>

namespace tessera {

/// Measures the context's GPU in about half a second. Latencies come from chains of dependent operations of
/// one thread (Wong et al., "Demystifying GPU microarchitecture through microbenchmarking", ISPASS 2010),
/// rates from all multiprocessors at work. Memory for the measurements is at most a quarter of what is free.
/// A number that is not finite or not above 0, because the driver or a timer is odd, is replaced by that of
/// ratesByAttributes, and `assumed` receives a sentence for it.
/// Throws Error(device), and Error(outOfMemory) if not even 64 MB are free.
TESSERA_CUDA_ONLY GpuRates measureGpuRates(Context&, std::vector<std::string>& assumed);

}
