#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Filters/ExponentialFilter.h"
#include "Core/Image/Image.h"

namespace tessera {

/// The order in which axes are smoothed, which changes the last bit of a float. lastFirst is the order of
/// ITK's filter for all axes.
enum class AxisOrder { ascending, lastFirst };

/// Smooths each axis by the fourth-order recursive approximation of a Gaussian (Deriche, "Recursively
/// implementing the Gaussian and its derivatives", INRIA report 1893, 1993), normalised to unit gain. Border
/// values continue beyond the image. `sigmaVoxels` has a sigma for each axis; 0 leaves the axis unchanged.
/// Multi-threaded; allocates no volume but the result.
template <int D>
Image<D> smoothRecursively(Context&, const Image<D>&, const Vec<D>& sigmaVoxels,
                           AxisOrder = AxisOrder::ascending);

/// The filter of one axis. Its gain is 1 even with poles rounded to single precision.
ExponentialFilter gaussianFilter(double sigmaVoxels);

}
