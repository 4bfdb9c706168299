#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"

#include <cstddef>

// Launches of ChainKernels.h.
namespace tessera {

/// The launch of addDisplacementsOnCuda in 3D.
TESSERA_CUDA_ONLY LaunchShape addDisplacementsShape(std::size_t samples);

/// The launches of pullBackBSplineOnCuda in 3D for one cubic B-spline.
struct PullBackShapes {
  LaunchShape largest, scatter, move;
};
TESSERA_CUDA_ONLY PullBackShapes pullBackBSplineShapes(const Context&, std::size_t samples,
                                                       std::size_t parameters);

}
