#include "Tools/Bench/Model/GpuRateNames.h"

#include <cmath>

namespace tessera {
namespace {

constexpr const char* perCycle = "a multiprocessor and cycle";

constexpr GpuRateName names[] = {
    {"Multiprocessors", &GpuRates::multiprocessors, ""},
    {"Clock", &GpuRates::clockGHz, "GHz"},
    {"CacheBytes", &GpuRates::cacheBytes, "bytes"},
    {"Schedulers", &GpuRates::schedulers, "a multiprocessor"},
    {"MaxBlocks", &GpuRates::maxBlocks, "a multiprocessor"},
    {"MaxWarps", &GpuRates::maxWarps, "a multiprocessor"},
    {"Registers", &GpuRates::registers, "a multiprocessor"},
    {"SharedBytes", &GpuRates::sharedBytes, "a multiprocessor"},
    {"ReservedSharedBytes", &GpuRates::reservedSharedBytes, "a block"},
    {"LatencyFp32", &GpuRates::latencyFp32, "cycles"},
    {"LatencyFp64", &GpuRates::latencyFp64, "cycles"},
    {"LatencySpecial", &GpuRates::latencySpecial, "cycles"},
    {"LatencySpecialFp64", &GpuRates::latencySpecialFp64, "cycles"},
    {"LatencyConstant", &GpuRates::latencyConstant, "cycles"},
    {"LatencyShared", &GpuRates::latencyShared, "cycles"},
    {"LatencyL1", &GpuRates::latencyL1, "cycles"},
    {"LatencyL2", &GpuRates::latencyL2, "cycles"},
    {"LatencyDram", &GpuRates::latencyDram, "cycles"},
    {"LatencyBarrier", &GpuRates::latencyBarrier, "cycles"},
    {"Issue", &GpuRates::issue, perCycle},
    {"Fp32", &GpuRates::fp32, perCycle},
    {"Fp64", &GpuRates::fp64, perCycle},
    {"Special", &GpuRates::special, perCycle},
    {"Integer", &GpuRates::integer, perCycle},
    {"L1Wavefronts", &GpuRates::l1Wavefronts, perCycle},
    {"SharedWavefronts", &GpuRates::sharedWavefronts, perCycle},
    {"SharedAtomics", &GpuRates::sharedAtomics, perCycle},
    {"L2Bytes", &GpuRates::l2Bytes, "bytes/s"},
    {"L2BytesOfOne", &GpuRates::l2BytesOfOne, "bytes/s"},
    {"DramReadBytes", &GpuRates::dramReadBytes, "bytes/s"},
    {"DramWriteBytes", &GpuRates::dramWriteBytes, "bytes/s"},
    {"DramCopyBytes", &GpuRates::dramCopyBytes, "bytes/s"},
    {"AtomicSectors", &GpuRates::atomicSectors, "a second"},
    {"MeetingSectors", &GpuRates::meetingSectors, "a second"},
    {"BlocksPerSecond", &GpuRates::blocksPerSecond, "a second"},
    {"LaunchSeconds", &GpuRates::launchSeconds, "s"},
    {"PinnedUpload", &GpuRates::pinnedUpload, "bytes/s"},
    {"PinnedDownload", &GpuRates::pinnedDownload, "bytes/s"},
    {"PageableUpload", &GpuRates::pageableUpload, "bytes/s"},
    {"PageableDownload", &GpuRates::pageableDownload, "bytes/s"},
    {"Exponent", &GpuRates::exponent, ""},
};

}

std::span<const GpuRateName> gpuRateNames()
{
  return names;
}

double largestOf(const GpuRateName& rate)
{
  const std::string unit = rate.unit;
  return unit == "cycles"    ? 1e6
         : unit == perCycle  ? 1e4
         : unit == "GHz"     ? 100
         : unit == "s"       ? 10
         : unit == "bytes/s" ? 1e17
                             : 1e15; // counts, and bytes
}

std::vector<std::string> replaceUnusable(GpuRates& rates, const GpuRates& instead)
{
  std::vector<std::string> replaced;
  for (const GpuRateName& rate : names)
    if (!(std::isfinite(rates.*rate.value) && rates.*rate.value > 0)
        && rates.*rate.value != instead.*rate.value) {
      rates.*rate.value = instead.*rate.value;
      replaced.push_back(rate.name);
    }
  return replaced;
}

}
