#pragma once

#include "Tools/Bench/Model/GpuRates.h"

#include <span>
#include <string>
#include <vector>

namespace tessera {

/// A number of GpuRates with its name in files and tables, and its unit.
struct GpuRateName {
  const char* name;
  double GpuRates::*value;
  const char* unit;
};
std::span<const GpuRateName> gpuRateNames();
/// No GPU reaches more. A larger number is a damaged file's.
double largestOf(const GpuRateName&);

/// Replaces each rate that is no finite number above 0 by that of `instead`, and returns their names. A
/// device may report a clock of 0, or finish a microbenchmark faster than its timer ticks.
std::vector<std::string> replaceUnusable(GpuRates&, const GpuRates& instead);

}
