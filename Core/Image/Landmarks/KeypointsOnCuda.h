#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/ImageGeometry.h"

namespace tessera {

// Arrays on the context's CUDA device, a number a voxel, x fastest.

/// products = derivative along axis i times that along axis j.
TESSERA_CUDA_ONLY void gradientProductsOnCuda(const Context&, const Size<3>&, const float* image, int i,
                                              int j, float* products);

/// The distinctiveness of smoothed products xx, xy, xz, yy, yz, zz.
TESSERA_CUDA_ONLY void distinctivenessOnCuda(const Context&, std::size_t voxels,
                                             const float* const (&products)[6], float* values);

}
