#pragma once

#include "Core/Registration/Interpolation/RowInterpolator.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// Which voxel stands for one beyond the border.
enum class EdgeRule {
  mirror, // ... 2 1 0 1 2 ..., as itk::BSplineInterpolateImageFunction
  clamp,  // ... 0 0 0 1 2 ..., as itk::LinearInterpolateImageFunction
};

/// Coefficients of a spline on an image grid, x fastest.
template <int D, class Coefficient = float>
struct SplineImage {
  const Coefficient* coefficients = nullptr; // orders above 1: coefficientPadding values more than voxels
  Size<D> size{};
  PointToIndex<D> pointToIndex;
  EdgeRule edges = EdgeRule::mirror;
  /// Order 1: a point on the last voxel belongs to the cell before it (else to the mirrored one behind),
  /// which only its slope shows.
  bool lastVoxelClosesCell = false;

  SplineImage() = default;
  SplineImage(const Coefficient* c, const ImageGeometry<D>& geometry)
      : coefficients(c), size(geometry.size), pointToIndex(geometry.pointToIndex())
  {
  }
};

/// The batch loops of spline interpolators, one instance for each dimension and order (2 to 5); sums are
/// formed in `Real`.
template <int D, int Order, class Coefficient, class Real>
class SplineBatch {
public:
  /// As Interpolator::evaluate, without and with gradients.
  static void values(const SplineImage<D, Coefficient>&, const ListSamples<D>&, float* values,
                     std::uint8_t* inside);
  /// Of points [begin, end) of a row, all inside; values[i] is that of point i.
  static void row(const SplineImage<D, Coefficient>&, const IndexRow<D>&, std::int32_t begin,
                  std::int32_t end, float* values);
  static void gradients(const SplineImage<D, Coefficient>&, const ListSamples<D>&, float* values,
                        float* const* gradients, std::uint8_t* inside);
};

/// Calls the instance for `order` (1: LinearBatch): all in float, which is what matching needs.
template <int D>
void evaluateSpline(const SplineImage<D>&, int order, const ListSamples<D>&, float* values,
                    float* const* gradients, std::uint8_t* inside);

/// As RowInterpolator::evaluateRow, orders 2 to 5.
template <int D>
bool evaluateSplineRow(const SplineImage<D, double>&, int order, const IndexRow<D>&, float* values,
                       RowSpan& inside);

/// Orders 2 to 5 all in double, as result images need it to hold what elastix writes to the last bit of a
/// float.
template <int D>
void evaluateSpline(const SplineImage<D, double>&, int order, const ListSamples<D>&, float* values,
                    float* const* gradients, std::uint8_t* inside);

}
