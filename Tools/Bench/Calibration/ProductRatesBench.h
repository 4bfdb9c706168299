#pragma once

#include "Core/Compute/Context.h"
#include "Core/Parameters/Calibration.h"

namespace tessera {

/// Measures the rates of sparse products on the CPU, with one thread and with the calibration's, and on a
/// CUDA device, for which there are contexts with as many threads, unless they are null.
void measureProducts(Context* cudaWithOne, Context* cudaWithAll, Calibration&);

}
