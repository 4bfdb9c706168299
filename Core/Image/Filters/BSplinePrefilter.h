#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Filters/ExponentialFilter.h"
#include "Core/Image/Image.h"

#include <memory>
#include <vector>

namespace tessera {

// Coefficients c such that sum_k c_k beta_n(x - k) passes through the values (Unser, Aldroubi, Eden,
// "B-spline signal processing: part II", 1993): one causal and one anticausal recursion a pole and axis, with
// mirror boundaries (... 2 1 0 1 2 ...).

/// Zeros stand behind the last coefficient, so that a row of 8 may be loaded from any voxel on.
constexpr std::size_t coefficientPadding = 8;

/// Of an image, order 2 to 5, x fastest, `coefficientPadding` more than there are voxels. Multi-threaded; an
/// axis of one voxel stays.
template <int D>
std::vector<float> bsplineCoefficients(Context&, const Image<D>&, int order);
template <int D>
std::unique_ptr<double[]> bsplineCoefficientsInDouble(Context&, const Image<D>&, int order);

/// In place, in double, for small arrays such as control point grids; x fastest. Order 0 and 1 change
/// nothing.
template <int D>
void bsplineDecompose(std::vector<double>& values, const Size<D>& size, int order);

/// The filter itself for mirrored lines, a real term for each pole; empty for orders 0 and 1. Throws
/// Error(usage) for orders over 5.
ExponentialFilter splineFilter(int order);

}
