#pragma once

#include "Core/Compute/Context.h"
#include "Core/Parameters/Calibration.h"
#include "Core/Registry/Registry.h"

#include <string>

namespace tessera {

/// Measures the rates of this machine, in some seconds: of the CPU with one thread, and with `threads` for
/// those of them that are shared; of CUDA if `device` names a GPU. No GPU may have been used by the process
/// before. Throws Error(device).
Calibration measureCalibration(const Registry&, const std::string& device, int threads);

/// Measures the rates of sparse products on the CPU, with one thread and with the calibration's, and on a
/// CUDA device, for which there are contexts with as many threads, unless they are null.
void measureProducts(Context* cudaWithOne, Context* cudaWithAll, Calibration&);

}
