#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Filters/ExponentialFilter.h"
#include "Core/Image/Image.h"
#include "Core/Image/ImageGeometry.h"

#include <memory>
#include <vector>

namespace tessera {

// Coefficients c such that sum_k c_k beta_n(x - k) passes through the values (Unser, Aldroubi, Eden,
// "B-spline signal processing: part II", 1993): one causal and one anticausal recursion a pole and axis, with
// mirror boundaries (... 2 1 0 1 2 ...).

/// The number of zeros behind the last coefficient: vector code may load 8 coefficients from any voxel on.
constexpr std::size_t coefficientPadding = 8;

/// The coefficients of an image for order 2 to 5, x fastest, followed by `coefficientPadding` zeros. Multi-
/// threaded. An axis of one voxel is not filtered.
template <int D>
std::vector<float> bsplineCoefficients(Context&, const Image<D>&, int order);
template <int D>
std::unique_ptr<double[]> bsplineCoefficientsInDouble(Context&, const Image<D>&, int order);

/// Replaces the values of a small array, such as a grid of control points, by their coefficients in double
/// precision, x fastest. Orders 0 and 1 change nothing.
template <int D>
void bsplineDecompose(const Context&, std::vector<double>& values, const Size<D>& size, int order);

/// The filter for mirrored lines: a real term for each pole, none for orders 0 and 1. Throws Error(usage) for
/// orders above 5.
ExponentialFilter splineFilter(int order);

/// bsplineCoefficients on the context's CUDA device for order 2 to 5 (with 0 and 1 the voxels are the
/// coefficients), without padding. `voxels` is an array of the device, x fastest. In single precision: the
/// error is some 1e-7 of the largest coefficient. Traffic: reads and writes the volume once for each axis.
template <int D>
Buffer<float> bsplineCoefficientsOnCuda(Context&, const float* voxels, const Size<D>& size, int order);

}
