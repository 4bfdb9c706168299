#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cstddef>
#include <functional>
#include <numeric>

namespace tessera {

template <int D>
using Size = std::array<std::size_t, D>;

template <class Numbers>
auto productOf(const Numbers& numbers)
{
  return std::accumulate(numbers.begin(), numbers.end(), typename Numbers::value_type(1), std::multiplies());
}

/// The index of a voxel, from its number in memory; x is fastest.
template <int D>
TESSERA_HOST_DEVICE inline Vec<D> indexOfVoxel(const Size<D>& size, std::size_t number)
{
  Vec<D> index;
  for (int d = 0; d < D; ++d) {
    index[d] = static_cast<double>(number % size[d]);
    number /= size[d];
  }
  return index;
}

/// The continuous index of a point, with ITK's order of additions: see ImageGeometry::indexFromOffset.
template <int D>
struct PointToIndex {
  Matrix<D> fromOffset{}; // d index / d (point - origin), 1/mm
  Vec<D> originMm{};

  /// Along one axis; pointMm[d] is the point's coordinate d.
  template <class Point>
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double along(int axis, const Point& pointMm) const
  {
    double index = fromOffset[axis][0] * (pointMm[0] - originMm[0]);
    TESSERA_UNROLL
    for (int d = 1; d < D; ++d)
      index += fromOffset[axis][d] * (pointMm[d] - originMm[d]);
    return index;
  }

  TESSERA_HOST_DEVICE Vec<D> operator()(const Vec<D>& pointMm) const
  {
    Vec<D> index;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      index[d] = along(d, pointMm);
    return index;
  }
};

/// The grid of an image, as in ITK: point (LPS mm) = origin + direction * (spacing . index).
template <int D>
struct ImageGeometry {
  Size<D> size{};
  Vec<D> spacingMm{};
  Vec<D> originMm{};
  Matrix<D> direction = identityMatrix<D>();

  std::size_t voxelCount() const { return productOf(size); }

  AffineMap<D> pointFromIndex() const
  {
    AffineMap<D> map{direction, originMm};
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j)
        map.matrix[i][j] *= spacingMm[j];
    return map;
  }

  /// The matrix d index / d (point - origin), with the roundings of ITK's inverse. If both images have the
  /// same grid, or a pyramid shrinks, every sample lies on a voxel or midway between two: then rounding alone
  /// decides to which voxel it belongs, and here as in elastix.
  Matrix<D> indexFromOffset() const;

  PointToIndex<D> pointToIndex() const { return {indexFromOffset(), originMm}; }

  /// pointToIndex() as one affine map, with other roundings.
  AffineMap<D> indexFromPoint() const
  {
    AffineMap<D> map{indexFromOffset(), {}};
    const Vec<D> shifted = apply<D>(map.matrix, originMm);
    for (int d = 0; d < D; ++d)
      map.offset[d] = -shifted[d];
    return map;
  }

  /// The point of the continuous index (size - 1) / 2.
  Vec<D> centerMm() const
  {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = (static_cast<double>(size[d]) - 1) / 2;
    return pointFromIndex()(index);
  }

  /// The points of the first and last voxels of all axes; bit d of a corner's number says which of axis d.
  std::array<Vec<D>, 1 << D> cornersMm() const
  {
    std::array<Vec<D>, 1 << D> corners;
    for (std::size_t corner = 0; corner < corners.size(); ++corner) {
      Vec<D> index;
      for (int d = 0; d < D; ++d)
        index[d] = corner >> d & 1 ? static_cast<double>(size[d] - 1) : 0;
      corners[corner] = pointFromIndex()(index);
    }
    return corners;
  }

  bool operator==(const ImageGeometry&) const = default;
};

}
