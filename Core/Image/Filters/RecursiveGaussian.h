#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Filters/ExponentialFilter.h"
#include "Core/Image/Image.h"

namespace tessera {

/// In which order axes are smoothed; it shows in the last bit of a float. lastFirst is that of ITK's filter
/// for all axes.
enum class AxisOrder { ascending, lastFirst };

/// Smooths each axis by the fourth-order recursive approximation of a Gaussian (Deriche, "Recursively
/// implementing the Gaussian and its derivatives", INRIA report 1893, 1993), normalised to unit gain, values
/// continued constantly beyond the borders. `sigmaVoxels` is per axis; 0 leaves the axis as it is.
/// Multi-threaded; no volume but the result is allocated.
template <int D>
Image<D> smoothRecursively(Context&, const Image<D>&, const Vec<D>& sigmaVoxels,
                           AxisOrder = AxisOrder::ascending);

/// One axis of it, for lines that go on constantly. The gain is 1 with poles rounded to single precision too.
ExponentialFilter gaussianFilter(double sigmaVoxels);

}
