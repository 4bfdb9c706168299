#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/Model/GpuRates.h"
#include "Tools/Bench/Model/ModelCases.h"

#include <array>
#include <string>
#include <vector>

namespace tessera {

struct ModelSettings {
  std::vector<std::array<int, 3>> volumes = modelVolumes();
  std::vector<std::string> kernels; // empty: all
  std::vector<int> blockThreads;    // empty: those of each kernel
  std::size_t repeats = 9;
};

/// Measures kernels with several block sizes, once the caches hold other numbers, and writes a table: times
/// beside those that the three models of KernelModels.h predict, what bounds a kernel, and the block size
/// that the model chooses. Lines at the end sum it up. The context must be on a CUDA device.
std::string modelBench(Context&, const GpuRates&, const ModelSettings&);

/// Runs each kernel once with each block size, for a profiler, and returns what the cost functions count for
/// these launches, all warps together: lines of kernel, block size and counts, the first with their names.
std::string modelCounts(Context&, const ModelSettings&);

}
