#pragma once

#include "Core/Compute/Device.h"

#include <memory>

namespace tessera {

class Stream;

/// The device on which a computation runs, and its number of threads.
struct Context {
  Device device;
  int threads = 1;
  std::shared_ptr<Stream> stream = nullptr; // null on the CPU

  bool onCuda() const { return device.kind == DeviceKind::cuda; }
};

/// A context; on a CUDA device it has its own stream. Throws Error(device) if the device cannot be used.
Context makeContext(const Device&, int threads);

}
