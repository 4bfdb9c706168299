#pragma once

#include "Core/Registration/Interpolation/IndexRow.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// The voxel that takes the place of one beyond the border.
enum class EdgeRule {
  mirror, // ... 2 1 0 1 2 ..., as itk::BSplineInterpolateImageFunction
  clamp,  // ... 0 0 0 1 2 ..., as itk::LinearInterpolateImageFunction
};

/// Coefficients of a spline on an image grid, x fastest.
template <int D, class Coefficient = float>
struct SplineImage {
  const Coefficient* coefficients = nullptr; // one a voxel; for orders above 1 coefficientPadding more
  Size<D> size{};
  PointToIndex<D> pointToIndex;
  EdgeRule edges = EdgeRule::mirror;
  /// For order 1: whether a point on the last voxel belongs to the cell before it, and not to the mirrored
  /// cell behind it. Only the slope there depends on it.
  bool lastVoxelClosesCell = false;

  SplineImage() = default;
  SplineImage(const Coefficient* c, const ImageGeometry<D>& geometry)
      : coefficients(c), size(geometry.size), pointToIndex(geometry.pointToIndex())
  {
  }
};

/// The batch loops of spline interpolators, with an instance for each dimension and order (2 to 5). Sums are
/// formed in `Real`.
template <int D, int Order, class Coefficient, class Real>
class SplineBatch {
public:
  /// Does the work of Interpolator::evaluate without gradients; the function below, with gradients.
  static void values(const SplineImage<D, Coefficient>&, const ListSamples<D>&, float* values,
                     std::uint8_t* inside);
  /// Values of points [begin, end) of a row, all inside; values[i] belongs to point i.
  static void row(const SplineImage<D, Coefficient>&, const IndexRow<D>&, std::int32_t begin,
                  std::int32_t end, float* values);
  static void gradients(const SplineImage<D, Coefficient>&, const ListSamples<D>&, float* values,
                        float* const* gradients, std::uint8_t* inside);
};

/// Calls the instance for `order` (LinearBatch for order 1). All sums are in float, which is enough for
/// matching.
template <int D>
void evaluateSpline(const SplineImage<D>&, int order, const ListSamples<D>&, float* values,
                    float* const* gradients, std::uint8_t* inside);

/// Does the work of Interpolator::evaluateRow for orders 2 to 5.
template <int D>
bool evaluateSplineRow(const SplineImage<D, double>&, int order, const IndexRow<D>&, float* values,
                       RowSpan& inside);

/// Orders 2 to 5 with all sums in double. Result images need this to have the same floats as those of
/// elastix, to the last bit.
template <int D>
void evaluateSpline(const SplineImage<D, double>&, int order, const ListSamples<D>&, float* values,
                    float* const* gradients, std::uint8_t* inside);

}
