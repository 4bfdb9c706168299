#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cstddef>

namespace tessera {

template <int D>
using Size = std::array<std::size_t, D>;

/// Continuous index of a point, added up in ITK's order: see ImageGeometry::indexFromOffset.
template <int D>
struct PointToIndex {
  Matrix<D> fromOffset;
  Vec<D> originMm;

  TESSERA_HOST_DEVICE Vec<D> operator()(Vec<D> pointMm) const
  {
    for (int d = 0; d < D; ++d)
      pointMm[d] -= originMm[d];
    return apply<D>(fromOffset, pointMm);
  }
};

/// Where the voxels of an image lie: ITK's rule, point (LPS mm) = origin + direction * (spacing . index).
template <int D>
struct ImageGeometry {
  Size<D> size{};
  Vec<D> spacingMm{};
  Vec<D> originMm{};
  Matrix<D> direction = identityMatrix<D>();

  std::size_t voxelCount() const
  {
    std::size_t count = 1;
    for (int d = 0; d < D; ++d)
      count *= size[d];
    return count;
  }

  AffineMap<D> pointFromIndex() const
  {
    AffineMap<D> map{direction, originMm};
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j)
        map.matrix[i][j] *= spacingMm[j];
    return map;
  }

  /// d index / d (point - origin), with the very rounding of ITK's inverse. On images of one grid, and on
  /// pyramids that shrink, every sample lies on or midway between voxels: rounding alone decides to which one
  /// it belongs, and elastix's decides so.
  Matrix<D> indexFromOffset() const;

  PointToIndex<D> pointToIndex() const { return {indexFromOffset(), originMm}; }

  /// The same as one matrix and offset, with other roundings.
  AffineMap<D> indexFromPoint() const
  {
    AffineMap<D> map{indexFromOffset(), {}};
    const Vec<D> shifted = apply<D>(map.matrix, originMm);
    for (int d = 0; d < D; ++d)
      map.offset[d] = -shifted[d];
    return map;
  }

  /// Point of the continuous index (size - 1) / 2.
  Vec<D> centerMm() const
  {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = (static_cast<double>(size[d]) - 1) / 2;
    return pointFromIndex()(index);
  }

  bool operator==(const ImageGeometry&) const = default;
};

}
