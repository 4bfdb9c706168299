#include "Tools/Bench/Model/GpuRates.h"

namespace tessera {

// These numbers are from `tessera-bench calibrate --model`.
const GpuRates& usualGpuRates()
{
  static const GpuRates rates = [] {
    GpuRates r;
    r.gpu = "NVIDIA H100 80GB HBM3, 132 multiprocessors";
    r.multiprocessors = 132;
    r.clockGHz = 1.98;
    r.cacheBytes = 5.243e+07;
    r.schedulers = 4;
    r.maxBlocks = 32;
    r.maxWarps = 64;
    r.registers = 6.554e+04;
    r.sharedBytes = 2.335e+05;
    r.reservedSharedBytes = 1024;
    r.latencyFp32 = 4.16;
    r.latencyFp64 = 8.102;
    r.latencySpecial = 17.02;
    r.latencySpecialFp64 = 17.02;
    r.latencyConstant = 28.11;
    r.latencyShared = 23.04;
    r.latencyL1 = 32;
    r.latencyL2 = 277.3;
    r.latencyDram = 679.9;
    r.latencyBarrier = 28.73;
    r.issue = 3.811;
    r.fp32 = 3.811;
    r.fp64 = 1.985;
    r.special = 0.4996;
    r.integer = 1.968;
    r.l1Wavefronts = 0.9807;
    r.sharedWavefronts = 0.9955;
    r.sharedAtomics = 0.9895;
    r.l2Bytes = 6.24e+12;
    r.l2BytesOfOne = 1.622e+11;
    r.dramReadBytes = 2.967e+12;
    r.dramWriteBytes = 3.127e+12;
    r.dramCopyBytes = 2.927e+12;
    r.atomicSectors = 8.616e+10;
    r.meetingSectors = 3.386e+10;
    r.blocksPerSecond = 1.625e+09;
    r.launchSeconds = 4.8e-06;
    r.pinnedUpload = 5.461e+10;
    r.pinnedDownload = 5.467e+10;
    r.pageableUpload = 6.449e+09;
    r.pageableDownload = 7.247e+09;
    r.exponent = 2.424;
    return r;
  }();
  return rates;
}

}
