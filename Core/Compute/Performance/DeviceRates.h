#pragma once

#include "Core/Compute/Performance/GpuRates.h"

namespace tessera {

/// The rates by which kernels choose their block sizes on a CUDA device: those that setDeviceRates was given,
/// else those that follow from what the driver says (ratesByAttributes), and those of an H100 where there is
/// no such device. May be called by several threads.
GpuRates deviceRates(int ordinal);

/// To be called before kernels choose on this device; what they have chosen stays.
void setDeviceRates(int ordinal, const GpuRates&);

}
