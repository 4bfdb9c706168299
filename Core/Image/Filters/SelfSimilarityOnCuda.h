#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"

namespace tessera {

/// The `values` of a SelfSimilarityDescriptor on the context's CUDA device; `voxels` is an array there, x
/// fastest. Some numbers differ by 1 from those of the CPU: the Gaussian is in single precision. The context
/// may be that of a MemoryCount.
///
/// While it runs it takes 48 bytes a voxel in 3D, 16 in 2D. Traffic in 3D: about 500 bytes a voxel.
template <int D>
Buffer<std::uint8_t> selfSimilaritiesOnCuda(Context&, const float* voxels, const Size<D>& size,
                                            const Matrix<D>& steps = identityMatrix<D>());

}
