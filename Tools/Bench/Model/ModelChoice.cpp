#include "Tools/Bench/Model/ModelChoice.h"

#include "Tools/Bench/Model/KernelModels.h"
#include "Tools/Bench/Model/ModelCases.h"

#include <bit>

namespace tessera {

BlockSizes chosenBlockSizes(Context& context, const GpuRates& rates)
{
  BlockSizes sizes;
  for (const char* kernel : {"adjoint", "prefilter"})
    for (const std::array<int, 3>& volume : modelVolumes()) {
      const ModelCase problem = modelCase(context, kernel, volume);
      std::vector<double> predicted;
      std::vector<int> sizesOfBlocks; // 96 and 192 threads leave registers unused
      for (const int threads : problem.blockThreads) {
        if (!std::has_single_bit(static_cast<unsigned>(threads)))
          continue;
        sizesOfBlocks.push_back(threads);
        const BlockThreads tried(threads);
        double& seconds = predicted.emplace_back(0);
        for (const KernelLaunch& launch : problem.launches())
          seconds += predict(rates, launch).seconds;
      }
      sizes[kernel][static_cast<std::size_t>(problem.items)] =
          sizesOfBlocks[chosenBlockSize(predicted, sizesOfBlocks)];
    }
  return sizes;
}

}
