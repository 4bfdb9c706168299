#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Performance/KernelCost.h"

#include <cstddef>
#include <vector>

// The performance model reads from here how much work the launches of ChainKernels.h are.
namespace tessera {

/// The launch of addDisplacementsOnCuda in 3D for one thin-plate spline.
TESSERA_CUDA_ONLY KernelLaunch addDisplacementsLaunch(std::size_t samples, int landmarks);

/// The launches of pullBackBSplineOnCuda in 3D for a list of points without structure and one cubic B-spline.
TESSERA_CUDA_ONLY std::vector<KernelLaunch> pullBackBSplineLaunches(const Context&, std::size_t samples,
                                                                    std::size_t parameters);

}
