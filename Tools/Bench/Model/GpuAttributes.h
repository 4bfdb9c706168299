#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Tools/Bench/Model/GpuRates.h"

#include <string>
#include <vector>

namespace tessera {

/// A GPU as its driver describes it; 0 where the driver gives no sensible number.
struct GpuAttributes {
  std::string name;
  int capability = 0; // 10 * major + minor
  double multiprocessors = 0, clockGHz = 0, cacheBytes = 0;
  double maxBlocks = 0, maxWarps = 0, registers = 0, sharedBytes = 0, reservedSharedBytes = 0;
  double memoryBytesPerSecond = 0; // by the memory's clock and the width of its bus
};

/// Throws Error(device) if there is no such device.
TESSERA_CUDA_ONLY GpuAttributes attributesOfCudaDevice(int ordinal);

/// The rates that follow from what the driver says: latencies in cycles are those of an H100, rates of a
/// multiprocessor those of its compute capability (CUDA C++ Programming Guide, "Throughput of native
/// arithmetic instructions"), rates of the L2 cache go with multiprocessors and clock, rates of DRAM with the
/// memory's. Where the driver tells nothing sensible, numbers of an H100 stand in, and `assumed` receives a
/// sentence for each. A part of a GPU (MIG) is taken to have as much of the memory's rate as of the
/// multiprocessors, because the driver tells the rate of the whole GPU.
GpuRates ratesByAttributes(const GpuAttributes&, std::vector<std::string>& assumed);

/// Why measured rates are no property of the GPU: its clock or its memory reached less than 0.7 of what the
/// driver's numbers let expect, as they do while other work runs on it. Empty: they reached it, or the driver
/// tells no sensible numbers, or the GPU is a part of one (MIG).
std::string whySlowerThanTold(const GpuRates& measured, const GpuAttributes&);

}
