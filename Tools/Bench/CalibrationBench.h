#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"
#include "Tools/Common/Calibration.h"

#include <string>
#include <vector>

namespace tessera {

/// Measures the rates of this machine. `device` as --device has it; without a CUDA device, of the CPU alone.
/// The process must have neither threads nor a CUDA device yet. Throws Error(device).
Calibration measureCalibration(const Registry&, const std::string& device, int threads);

/// Its rates, a row a kind of work.
std::string tableText(const Calibration&);

/// Whole resamplings of volumes of two or three extents, warm, and by how much the calibration is off: the
/// ratio of what it predicts, starts apart, to what they took.
std::vector<BenchResult> checkCalibration(const Registry&, const Calibration&, const std::string& device,
                                          int threads, const std::vector<std::vector<std::size_t>>& volumes);

}
