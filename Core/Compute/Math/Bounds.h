#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <algorithm>
#include <limits>

namespace tessera {

/// The smallest box along the axes that holds the points that were added.
template <int D>
struct Bounds {
  Vec<D> low, high;

  Bounds()
  {
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
  }

  void add(const Vec<D>& point)
  {
    for (int d = 0; d < D; ++d) {
      low[d] = std::min(low[d], point[d]);
      high[d] = std::max(high[d], point[d]);
    }
  }

  /// Corners have the numbers 0 to 2^D - 1: bit d is set for the higher of two corners along axis d.
  Vec<D> corner(int number) const
  {
    Vec<D> point;
    for (int d = 0; d < D; ++d)
      point[d] = number >> d & 1 ? high[d] : low[d];
    return point;
  }
};

}
