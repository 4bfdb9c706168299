#include "Tools/Bench/Model/GpuAttributes.h"
#include "Tools/Common/BlockSizesFile.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// Lanes of a multiprocessor that do an operation in each cycle.
struct CapabilityLanes {
  int capability;
  double fp32, fp64, integer;
};
constexpr CapabilityLanes knownLanes[] = {{70, 64, 32, 64},  {72, 64, 32, 64},  {75, 64, 2, 64},
                                          {80, 64, 32, 64},  {86, 128, 2, 64},  {87, 128, 2, 64},
                                          {89, 128, 2, 64},  {90, 128, 64, 64}, {100, 128, 64, 64},
                                          {103, 128, 2, 64}, {120, 128, 2, 64}, {121, 128, 2, 64}};
constexpr CapabilityLanes h100Lanes{90, 128, 64, 64};
/// The rate of an H100's memory by its driver: 2619 MHz, 5120 bits.
constexpr double h100MemoryBytesPerSecond = 3.352e12;

bool isSensible(double value)
{
  return std::isfinite(value) && value > 0;
}

}

GpuRates ratesByAttributes(const GpuAttributes& gpu, std::vector<std::string>& assumed)
{
  const GpuRates& h100 = usualGpuRates();
  GpuRates rates = h100;
  const auto told = [&](double value, double GpuRates::*number, const char* what) {
    if (isSensible(value))
      rates.*number = value;
    else
      assumed.push_back(std::string("the driver tells no ") + what + ", that of an H100 is taken");
  };
  told(gpu.multiprocessors, &GpuRates::multiprocessors, "number of multiprocessors");
  told(gpu.clockGHz, &GpuRates::clockGHz, "clock");
  told(gpu.cacheBytes, &GpuRates::cacheBytes, "size of the L2 cache");
  told(gpu.maxBlocks, &GpuRates::maxBlocks, "number of blocks of a multiprocessor");
  told(gpu.maxWarps, &GpuRates::maxWarps, "number of warps of a multiprocessor");
  told(gpu.registers, &GpuRates::registers, "number of registers");
  told(gpu.sharedBytes, &GpuRates::sharedBytes, "size of shared memory");
  if (std::isfinite(gpu.reservedSharedBytes) && gpu.reservedSharedBytes >= 0)
    rates.reservedSharedBytes = gpu.reservedSharedBytes; // 0 before compute capability 8.0
  rates.gpu = gpuStorageName(gpu.name, rates.multiprocessors);

  const auto* lanes = std::find_if(std::begin(knownLanes), std::end(knownLanes),
                                   [&](const auto& known) { return known.capability == gpu.capability; });
  if (lanes == std::end(knownLanes)) {
    lanes = &h100Lanes;
    assumed.push_back("compute capability " + std::to_string(gpu.capability / 10) + "."
                      + std::to_string(gpu.capability % 10)
                      + " is not known, rates of a multiprocessor of an H100 are taken");
  }
  rates.fp32 *= lanes->fp32 / h100Lanes.fp32;
  rates.fp64 *= lanes->fp64 / h100Lanes.fp64;
  rates.integer *= lanes->integer / h100Lanes.integer;
  // The threads of a warp take turns at the lanes.
  rates.latencyFp64 = std::max(rates.latencyFp64, 32 / lanes->fp64);

  const double clock = rates.clockGHz / h100.clockGHz,
               share = rates.multiprocessors / h100.multiprocessors * clock;
  for (double GpuRates::*const rate :
       {&GpuRates::l2Bytes, &GpuRates::atomicSectors, &GpuRates::meetingSectors})
    rates.*rate *= share;
  for (double GpuRates::*const rate : {&GpuRates::l2BytesOfOne, &GpuRates::blocksPerSecond})
    rates.*rate *= clock;
  double memory = gpu.memoryBytesPerSecond / h100MemoryBytesPerSecond;
  if (gpu.name.find(" MIG ") != std::string::npos) {
    memory = rates.multiprocessors / h100.multiprocessors;
    assumed.push_back("the driver tells no rate of the memory of a part of a GPU (MIG), that of an H100 is "
                      "taken, shared like the multiprocessors");
  } else if (!isSensible(memory)) {
    memory = share;
    assumed.push_back("the driver tells no rate of the memory, that of an H100 is taken, scaled like the "
                      "multiprocessors and their clock");
  }
  for (double GpuRates::*const rate :
       {&GpuRates::dramReadBytes, &GpuRates::dramWriteBytes, &GpuRates::dramCopyBytes})
    rates.*rate *= memory;
  return rates;
}

std::string whySlowerThanTold(const GpuRates& measured, const GpuAttributes& told)
{
  constexpr double least = 0.7; // an H100 has 1 of each, memories of other kinds nearly so
  std::vector<std::string> assumed;
  const GpuRates expected = ratesByAttributes(told, assumed);
  std::string slow;
  const auto check = [&](double attribute, double GpuRates::*rate, const char* name) {
    const double share = measured.*rate / (expected.*rate);
    if (isSensible(attribute) && share < least)
      slow += (slow.empty() ? "" : ", ") + std::string(name) + " reached "
              + std::to_string(std::lround(100 * share)) + " % of what its driver lets expect";
  };
  check(told.clockGHz, &GpuRates::clockGHz, "the clock");
  if (told.name.find(" MIG ") == std::string::npos) {
    check(told.memoryBytesPerSecond, &GpuRates::dramReadBytes, "reading of memory");
    check(told.memoryBytesPerSecond, &GpuRates::dramCopyBytes, "copying of memory");
  }
  return slow;
}

}
