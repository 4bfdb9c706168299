#pragma once

#include "Core/Compute/Performance/GpuRates.h"

#include <span>

namespace tessera {

/// A number of GpuRates with its name in files and tables, and its unit.
struct GpuRateName {
  const char* name;
  double GpuRates::*value;
  const char* unit;
};
std::span<const GpuRateName> gpuRateNames();

}
