#include "Tools/Bench/Model/GpuAttributes.h"

#include "Core/Compute/Cuda/Cuda.cuh"

#include <algorithm>

namespace tessera {

GpuAttributes attributesOfCudaDevice(int ordinal)
{
  cudaDeviceProp properties;
  checkCuda(cudaGetDeviceProperties(&properties, ordinal), "asking for a device's properties");
  const auto attribute = [&](cudaDeviceAttr name) {
    int value = 0; // stays 0 where a driver does not know the attribute
    if (cudaDeviceGetAttribute(&value, name, ordinal) != cudaSuccess)
      cudaGetLastError();
    return static_cast<double>(std::max(value, 0));
  };
  constexpr double edges = 2, bitsAByte = 8; // memory moves data at both edges of its clock
  GpuAttributes gpu;
  gpu.name = properties.name;
  gpu.capability = 10 * properties.major + properties.minor;
  gpu.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  gpu.clockGHz = 1e-6 * attribute(cudaDevAttrClockRate);
  gpu.cacheBytes = attribute(cudaDevAttrL2CacheSize);
  gpu.maxBlocks = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  gpu.maxWarps = attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32;
  gpu.registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  gpu.sharedBytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  gpu.reservedSharedBytes = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  gpu.memoryBytesPerSecond = 1e3 * edges * attribute(cudaDevAttrMemoryClockRate)
                             * attribute(cudaDevAttrGlobalMemoryBusWidth) / bitsAByte;
  return gpu;
}

}
