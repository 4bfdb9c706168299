#pragma once

#include "Core/Image/ImageGeometry.h"

#include <cmath>

namespace tessera {

/// A bound of the coordinates, in magnitude, to which the map takes points with |x_e| <= reach[e]. NaN if the
/// map holds a NaN.
template <int D>
double largestCoordinate(const AffineMap<D>& map, const Vec<D>& reach)
{
  double largest = 0;
  for (int d = 0; d < D; ++d) {
    double sum = std::abs(map.offset[d]);
    for (int e = 0; e < D; ++e)
      sum += std::abs(map.matrix[d][e]) * reach[e];
    largest = sum > largest || !(sum == sum) ? sum : largest;
  }
  return largest;
}

/// A bound of the coordinates to which the map takes the voxels of a lattice of this size.
template <int D>
double largestCoordinate(const AffineMap<D>& map, const Size<D>& size)
{
  Vec<D> extent;
  for (int d = 0; d < D; ++d)
    extent[d] = static_cast<double>(size[d]);
  return largestCoordinate<D>(map, extent);
}

}
