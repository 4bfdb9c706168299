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

/// What an Interpolator can be besides: rows of voxels under a linear transform need no point each.
template <int D>
class RowInterpolator {
public:
  virtual ~RowInterpolator() = default;

  /// As Interpolator::evaluate without gradients, at these indices; values are set of the points inside, and
  /// no others. False, and nothing of use, where one lies so near to the border of what is inside, or of what
  /// is nearest, that its last bits would decide: who asks then takes points, whose bits are ITK's.
  virtual bool evaluateRow(const IndexRow<D>&, float* values, RowSpan& inside) const = 0;
};

}
