#pragma once

#include "Core/Compute/Device.h"
#include "Core/Compute/Threads/Interruption.h"

#include <limits>
#include <memory>

namespace tessera {

class Stream;

/// The device on which a computation runs, its number of threads, and who may end it early.
struct Context {
  Device device;
  int threads = 1;
  std::shared_ptr<Stream> stream = nullptr; // null on the CPU
  Stop stop = {};

  bool onCuda() const { return device.kind == DeviceKind::cuda; }
  /// Returns a context of the CPU with the same threads and the same stop token.
  Context onCpu() const { return {Device{}, threads, nullptr, stop}; }
};

/// A context; on a CUDA device it has its own stream, which takes at most `mostDeviceBytes` for arrays. What
/// the driver takes for kernels does not count. Throws Error(device) if the device cannot be used.
Context makeContext(const Device&, int threads,
                    double mostDeviceBytes = std::numeric_limits<double>::infinity());

}
