#pragma once

#include "Core/Compute/Device.h"

namespace tessera {

/// Where and with how much a computation runs. Streams and device memory belong here.
struct Context {
  Device device;
  int threads = 1;
};

}
