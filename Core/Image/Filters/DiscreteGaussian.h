#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// Taps along an axis: output i is the sum over k of weights[k] * in[step * i + first + k], with indices
/// clamped to the axis.
struct AxisTaps {
  std::vector<double> weights;
  std::ptrdiff_t first = 0;
  std::size_t step = 1, count = 0; // count: length of the output axis

  bool operator==(const AxisTaps&) const = default;
  bool isIdentity() const { return weights.size() == 1 && weights[0] == 1 && first == 0 && step == 1; }
};

/// Discrete Gaussian exp(-v) I_k(v) (Lindeberg, "Scale-space for discrete signals", 1990), variance v in
/// voxels^2, cut where at most `maximumError` of its sum is missing and at the latest behind coefficient
/// `maximumWidth`, then scaled to sum 1. Odd length, symmetric; the Bessel functions are those of
/// itk::GaussianOperator (Numerical Recipes polynomials).
std::vector<double> discreteGaussian(double variance, double maximumError, std::size_t maximumWidth);

/// The discrete Gaussian of image pyramids (error 0.1, width 32) as taps that keep element firstKept + step *
/// i of the smoothed axis.
AxisTaps smoothingTaps(double variance, std::size_t firstKept, std::size_t step, std::size_t count);

/// Applies the taps of each axis and computes only the values that are kept. `geometry` is the grid of the
/// result, whose size is that of the taps' counts.
template <int D>
Image<D> applyTaps(Context&, const Image<D>&, const std::array<AxisTaps, D>&,
                   const ImageGeometry<D>& geometry);

}
