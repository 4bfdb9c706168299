#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Tools/Bench/Model/KernelCost.h"

#include <array>

namespace tessera {

/// The displacement of each voxel by a thin-plate spline as Wu et al. (IEEE TPDS 2019, 5.3, eq. 26) measured
/// it: to[c] at v = sum over landmarks j of w_j,c |p_j - v|, in single precision. `places` and `vectors` have
/// four numbers a landmark, the last of which is not used. With `inShared` a block first copies them to
/// shared memory, which must hold them: 32 bytes a landmark.
TESSERA_CUDA_ONLY void landmarkSumOnCuda(const Context&, const std::array<int, 3>& size, int landmarks,
                                         const float* places, const float* vectors, bool inShared,
                                         const std::array<float*, 3>& to);

/// The launch of landmarkSumOnCuda.
TESSERA_CUDA_ONLY KernelLaunch landmarkSumLaunch(const std::array<int, 3>& size, int landmarks,
                                                 bool inShared);

}
