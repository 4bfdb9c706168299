#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Continuous indices of an image at equal steps: first + i * step for i < count, count at most
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

  /// Does the work of Interpolator::evaluate without gradients at these indices. Sets the values of points
  /// inside alone. False, with values of no use, if a point lies so near to a border that its last bits
  /// decide whether it is inside or which voxel is nearest: the caller then evaluates points, with ITK's
  /// bits.
  virtual bool evaluateRow(const IndexRow<D>&, float* values, RowSpan& inside) const = 0;
};

}
