#include "Tools/Bench/Model/GpuRates.h"

namespace tessera {

// These numbers are from `tessera-bench calibrate --model`.
const GpuRates& usualGpuRates()
{
  static const GpuRates rates{.gpu = "NVIDIA H100 80GB HBM3, 132 multiprocessors",
                              .multiprocessors = 132,
                              .clockGHz = 1.98,
                              .cacheBytes = 5.243e+07,
                              .schedulers = 4,
                              .maxBlocks = 32,
                              .maxWarps = 64,
                              .registers = 6.554e+04,
                              .sharedBytes = 2.335e+05,
                              .reservedSharedBytes = 1024,
                              .latencyFp32 = 4.16,
                              .latencyFp64 = 8.102,
                              .latencySpecial = 17.02,
                              .latencySpecialFp64 = 17.02,
                              .latencyConstant = 28.11,
                              .latencyShared = 23.04,
                              .latencyL1 = 32,
                              .latencyL2 = 277.3,
                              .latencyDram = 679.9,
                              .latencyBarrier = 28.73,
                              .issue = 3.811,
                              .fp32 = 3.811,
                              .fp64 = 1.985,
                              .special = 0.4996,
                              .integer = 1.968,
                              .l1Wavefronts = 0.9807,
                              .sharedWavefronts = 0.9955,
                              .sharedAtomics = 0.9895,
                              .l2Bytes = 6.24e+12,
                              .dramReadBytes = 2.967e+12,
                              .dramWriteBytes = 3.127e+12,
                              .dramCopyBytes = 2.927e+12,
                              .l2BytesOfOne = 1.622e+11,
                              .atomicSectors = 8.616e+10,
                              .meetingSectors = 3.386e+10,
                              .blocksPerSecond = 1.625e+09,
                              .launchSeconds = 4.8e-06,
                              .pinnedUpload = 5.461e+10,
                              .pinnedDownload = 5.467e+10,
                              .pageableUpload = 6.449e+09,
                              .pageableDownload = 7.247e+09,
                              .exponent = 2.424};
  return rates;
}

}
