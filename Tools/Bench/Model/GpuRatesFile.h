#pragma once

#include "Core/Parameters/ParameterMap.h"
#include "Tools/Bench/Model/GpuRates.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The measured properties of a GPU as a parameter text, lines `(Name value)`.
std::string gpuRatesText(const GpuRates&);

/// Reads the text that gpuRatesText writes. Throws Error(usage) with file and line for another version and
/// for an entry that is missing, not known (those with block sizes are), no number of at least 0, or more
/// than a GPU can have.
GpuRates gpuRatesOf(const ParameterMap&);

/// The stored rates of a GPU; nothing if it has not been measured. Throws Error(usage) for a damaged file,
/// for one of another GPU, and for one that this user may not read.
std::optional<GpuRates> storedGpuRates(const std::string& gpu);

/// The rates as a table with a row for each number.
std::string gpuRatesTable(const GpuRates&);

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
