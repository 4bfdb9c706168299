#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"
#include "Tools/Bench/Model/GpuRates.h"
#include "Tools/Bench/Model/ModelCases.h"
#include "Tools/Bench/Model/ModelSummary.h"

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

/// Measures kernels with several block sizes, once the caches hold other numbers: times beside those that the
/// three models of KernelModels.h predict, and what bounds a kernel. The context must be on a CUDA device.
std::vector<ModelRow> modelBench(Context&, const GpuRates&, const ModelSettings&);

/// The rows for machines.
BenchTable modelTableOf(const std::vector<ModelRow>&);

/// Runs each kernel once with each block size, for a profiler, and returns what the cost functions count for
/// these launches, all warps together: lines of kernel, block size and counts, the first with their names.
std::string modelCounts(Context&, const ModelSettings&);

}
