#pragma once

#include "Core/Compute/Performance/GpuRates.h"
#include "Core/Parameters/ParameterMap.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The measured properties of a GPU as a parameter text, lines `(Name value)`.
std::string gpuRatesText(const GpuRates&);

/// Reads the text that gpuRatesText writes. Throws Error(usage) with file and line for another version and
/// for an entry that is missing, not known, or no number of at least 0.
GpuRates gpuRatesOf(const ParameterMap&);

/// The file of a GPU: its name in the folder `gpus` beside the calibration (calibrationPath); empty without a
/// home.
std::string gpuRatesPath(const std::string& gpu);

/// The stored rates of a GPU; nothing if it has not been measured. Throws Error(usage) for a damaged file.
std::optional<GpuRates> storedGpuRates(const std::string& gpu);

/// Replaces each rate that is no finite number above 0 by that of usualGpuRates(), and returns their names. A
/// device may report a clock of 0, or finish a microbenchmark faster than its timer ticks.
std::vector<std::string> replaceUnusable(GpuRates&);

/// The rates as a table with a row for each number.
std::string gpuRatesTable(const GpuRates&);

}
