#pragma once

#include "Core/Parameters/Calibration.h"
#include "Core/Sparse/Analysis/ProductWork.h"

namespace tessera {

/// Predicted seconds of a sparse product from matrices in host memory to C in host memory, without the start
/// of a device.
double cpuSeconds(const Calibration&, const ProductWork&, int threads);
/// `devices` GPUs share the rows of C and the copies.
double cudaSeconds(const Calibration&, const ProductWork&, int threads, int devices = 1);

}
