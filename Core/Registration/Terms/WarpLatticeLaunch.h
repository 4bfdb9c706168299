#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"

#include <array>

namespace tessera {

/// The columns of a block of warpLatticeOnCuda, and the rows that one of its threads handles.
struct WarpBlocks {
  static constexpr int width = 64, rowsAThread = 8;
};

/// The launch of warpLatticeOnCuda for a whole lattice in 3D with a smooth field and gradients, without
/// masks, where the fixed intensities are at hand.
TESSERA_CUDA_ONLY LaunchShape warpLatticeShape(const std::array<int, 3>& positions);

}
