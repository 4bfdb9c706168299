#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/ImageGeometry.h"

namespace tessera {

/// bsplineCoefficients on the context's CUDA device for order 2 to 5 (with 0 and 1 the voxels are the
/// coefficients), without padding. `voxels` is an array of the device, x fastest. In single precision: the
/// error is some 1e-7 of the largest coefficient. Traffic: reads and writes the volume once for each axis.
template <int D>
Buffer<float> bsplineCoefficientsOnCuda(Context&, const float* voxels, const Size<D>& size, int order);

}
