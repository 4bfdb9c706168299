#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"
#include "Core/Parameters/Calibration.h"

#include <string>
#include <vector>

namespace tessera {

/// Measures the rates of this machine. `device` is the value of --device; without a CUDA device the CPU alone
/// is measured. The process must have no further threads and no CUDA device yet. Throws Error(device).
Calibration measureCalibration(const Registry&, const std::string& device, int threads);

/// The rates as a table, with a row for each kind of work.
std::string tableText(const Calibration&);

/// Measures whole resamplings of volumes of two or three extents, with warm caches. The ratio is the time
/// that the calibration predicts, without starts, to the time measured.
std::vector<BenchResult> checkCalibration(const Registry&, const Calibration&, const std::string& device,
                                          int threads, const std::vector<std::vector<std::size_t>>& volumes);

}
