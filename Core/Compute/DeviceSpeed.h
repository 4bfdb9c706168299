#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"

#include <string>

namespace tessera {

/// How fast the driver says that a CUDA device is; 0 where it tells no sensible number.
struct DeviceSpeed {
  std::string name;
  double arithmetic = 0; // multiprocessors times their clock in GHz
  double memory = 0;     // bytes a nanosecond (GB/s) of the device's memory
};

/// Throws Error(device) if there is no such device.
TESSERA_CUDA_ONLY DeviceSpeed speedOfCudaDevice(int ordinal);

}
