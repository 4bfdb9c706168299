#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Continuous indices in an image at equal steps: first + i * step for i < count. `count` is at most
/// batchCapacity.
template <int D>
struct IndexRow {
  Vec<D> first{}, step{};
  std::size_t count = 0;
};

/// Points [begin, end) of a row.
struct RowSpan {
  std::int32_t begin = 0, end = 0;
};

/// An optional second interface of an Interpolator: rows of voxels under a linear transform, without points.
template <int D>
class RowInterpolator {
public:
  virtual ~RowInterpolator() = default;

  /// Does the work of Interpolator::evaluate without gradients at these indices. Only the values of points
  /// inside are set. Returns false, with unusable values, if a point lies so near to a border that rounding
  /// decides whether it is inside or which voxel is nearest. The caller must then evaluate points, which have
  /// the bits of ITK.
  virtual bool evaluateRow(const IndexRow<D>&, float* values, RowSpan& inside) const = 0;
};

}
