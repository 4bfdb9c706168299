#include "Core/Compute/DeviceSpeed.h"

#include "Core/Compute/Cuda/Cuda.cuh"

#include <algorithm>

namespace tessera {

DeviceSpeed speedOfCudaDevice(int ordinal)
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
  return {properties.name, attribute(cudaDevAttrMultiProcessorCount) * attribute(cudaDevAttrClockRate) * 1e-6,
          edges * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth)
              / bitsAByte * 1e-6};
}

}
