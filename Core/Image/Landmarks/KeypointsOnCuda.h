#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/ImageGeometry.h"

#include <cstdint>

namespace tessera {

// Arrays on the context's CUDA device, a number a voxel, x fastest.

/// products = derivative along axis i times that along axis j.
TESSERA_CUDA_ONLY void gradientProductsOnCuda(const Context&, const Size<3>&, const float* image, int i,
                                              int j, float* products);

/// The distinctiveness of smoothed products xx, xy, xz, yy, yz, zz.
TESSERA_CUDA_ONLY void distinctivenessOnCuda(const Context&, std::size_t voxels,
                                             const float* const (&products)[6], float* values);

/// Counts the voxels that are the largest in the cube of 2 `radius` + 1 voxels about them and above `least`,
/// and that lie in the mask with all their neighbours; of equal numbers the first one is the largest. Their
/// offsets go to `found`, in any order. `count` must be 0 before.
TESSERA_CUDA_ONLY void largestInCubesOnCuda(const Context&, const Size<3>&, const float* values,
                                            const std::uint8_t* mask, float least, int radius,
                                            std::uint32_t* found, std::uint32_t* count);

}
