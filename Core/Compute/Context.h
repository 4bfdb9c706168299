#pragma once

#include "Core/Compute/Device.h"

#include <memory>

namespace tessera {

class Stream;

/// Where and with how much a computation runs.
struct Context {
  Device device;
  int threads = 1;
  std::shared_ptr<Stream> stream = nullptr; // the order of work on a CUDA device; null on the CPU

  bool onCuda() const { return device.kind == DeviceKind::cuda; }
};

/// A context with a stream of its own if the device is a CUDA one. Throws Error(device) if that cannot be
/// had.
Context makeContext(const Device&, int threads);

}
