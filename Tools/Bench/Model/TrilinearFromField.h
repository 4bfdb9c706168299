#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Tools/Bench/Model/KernelCost.h"

#include <array>
#include <cstddef>

namespace tessera {

/// Trilinear interpolation at given positions, as Wu et al. (IEEE TPDS 2019, 5.4) measured it: to[v] = image
/// at v + u(v), where u (voxels, three planar arrays) is given for each voxel v; positions outside of the
/// image repeat its border. It moves 20 bytes a voxel: 12 of the field, 4 of the image through the caches,
/// and 4 that are written. All arrays are on the context's CUDA device; x is fastest.
TESSERA_CUDA_ONLY void trilinearFromFieldOnCuda(const Context&, const std::array<int, 3>& size,
                                                const float* image, const std::array<const float*, 3>& field,
                                                float* to);

/// The launch of trilinearFromFieldOnCuda, for a smooth field.
TESSERA_CUDA_ONLY KernelLaunch trilinearFromFieldLaunch(const std::array<int, 3>& size);

/// Reads an array past the L1 cache, so that the L2 cache holds it and nothing that must still be written.
TESSERA_CUDA_ONLY void readAllOnCuda(const Context&, std::size_t count, float* values);

/// values[i] = a number from `lowest` to `highest` by a hash of i.
TESSERA_CUDA_ONLY void fillWithNoise(const Context&, std::size_t count, float lowest, float highest,
                                     float* values);
TESSERA_CUDA_ONLY void fillWithNoise(const Context&, std::size_t count, double lowest, double highest,
                                     double* values);

/// A smooth wave of the given amplitude over a lattice, another one for each component.
TESSERA_CUDA_ONLY void fillWithWave(const Context&, const std::array<int, 3>& size, int component,
                                    float amplitude, float* values);

}
