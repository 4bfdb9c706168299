#pragma once

#include "Core/Parameters/Calibration.h"

#include <string>

namespace tessera {

/// Why `--device auto` leaves work to the CPU that takes so many seconds there: CUDA takes longer to start.
/// Empty: it does not.
std::string whyNotWorthCuda(double cpuSeconds);

/// The environment variable that names a file of rates.
constexpr const char* calibrationVariable = "TESSERA_CALIBRATION";

/// $TESSERA_CALIBRATION, else $XDG_CONFIG_HOME/tessera/calibration.txt if that is an absolute path, else
/// ~/.config/tessera/calibration.txt; empty without a home.
std::string calibrationPath();

/// The calibration of the file calibrationPath(), or the shipped one if there is no such file. Throws
/// Error(usage) if $TESSERA_CALIBRATION names a file that does not exist, or if this user may not read it.
Calibration storedCalibration();

}
