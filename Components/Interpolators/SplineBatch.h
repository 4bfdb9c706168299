#pragma once

#include "Core/Registration/Samples.h"

namespace tessera {

/// Which voxel stands for one beyond the border.
enum class EdgeRule {
  mirror, // ... 2 1 0 1 2 ..., as itk::BSplineInterpolateImageFunction
  clamp,  // ... 0 0 0 1 2 ..., as itk::LinearInterpolateImageFunction
};

/// Coefficients of a spline on an image grid, x fastest.
template <int D>
struct SplineImage {
  const float* coefficients = nullptr; // orders above 1: coefficientPadding values more than voxels
  Size<D> size{};
  Vec<D> originMm{};
  Matrix<D> indexFromOffset{}; // of (point - originMm)
  EdgeRule edges = EdgeRule::mirror;
  /// Order 1: a point on the last voxel belongs to the cell before it (else to the mirrored one behind), which only its slope
  /// shows.
  bool lastVoxelClosesCell = false;

  SplineImage() = default;
  SplineImage(const float* c, const ImageGeometry<D>& geometry)
      : coefficients(c), size(geometry.size), originMm(geometry.originMm), indexFromOffset(geometry.indexFromOffset())
  {
  }
};

/// The batch loops of all spline interpolators, one instance for each dimension and order (1 to 5).
template <int D, int Order>
class SplineBatch {
public:
  /// As Interpolator::evaluate, without and with gradients.
  static void values(const SplineImage<D>&, const ListSamples<D>&, float* values, std::uint8_t* inside);
  static void gradients(const SplineImage<D>&, const ListSamples<D>&, float* values, float* const* gradients, std::uint8_t* inside);
};

/// Calls the instance for `order`.
template <int D>
void evaluateSpline(const SplineImage<D>&, int order, const ListSamples<D>&, float* values, float* const* gradients,
                    std::uint8_t* inside);

}
