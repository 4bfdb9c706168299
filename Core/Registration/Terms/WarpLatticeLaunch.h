#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Performance/KernelCost.h"

#include <array>

namespace tessera {

/// The launch of warpLatticeOnCuda for a whole lattice in 3D with a smooth field and gradients, without
/// masks, where the fixed intensities are at hand.
TESSERA_CUDA_ONLY KernelLaunch warpLatticeLaunch(const std::array<int, 3>& positions);

}
