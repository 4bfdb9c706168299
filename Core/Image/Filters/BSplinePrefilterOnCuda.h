#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/ImageGeometry.h"

namespace tessera {

/// As bsplineCoefficients, on the context's CUDA device, of order 2 to 5 (those of 0 and 1 are the voxels):
/// one coefficient a voxel and no padding. `voxels` is an array of the device, x fastest. Single precision:
/// within some 1e-7 of the largest coefficient of what is computed in double. Reads and writes the volume
/// once an axis.
template <int D>
Buffer<float> bsplineCoefficientsOnCuda(Context&, const float* voxels, const Size<D>& size, int order);

}
