#include "Core/Image/Filters/Shrink.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// The point of the continuous index (size - 1) / 2, with ITK's order of additions.
template <int D>
Vec<D> centerOf(const ImageGeometry<D>& geometry)
{
  const Matrix<D> matrix = geometry.pointFromIndex().matrix;
  Vec<D> point;
  for (int row = 0; row < D; ++row) {
    double sum = 0;
    for (int d = 0; d < D; ++d)
      sum += matrix[row][d] * ((static_cast<double>(geometry.size[d]) - 1) / 2);
    point[row] = sum + geometry.originMm[row];
  }
  return point;
}

template <int D>
ImageGeometry<D> withFactors(ImageGeometry<D> geometry, const Size<D>& factors)
{
  for (int d = 0; d < D; ++d) {
    geometry.size[d] = std::max<std::size_t>(1, geometry.size[d] / factors[d]);
    geometry.spacingMm[d] *= static_cast<double>(factors[d]);
  }
  return geometry;
}

}

template <int D>
ShrunkGrid<D> shrunkGrid(const ImageGeometry<D>& geometry, const Size<D>& factors)
{
  ShrunkGrid<D> grid{withFactors<D>(geometry, factors), {}};
  const Vec<D> before = centerOf<D>(geometry), after = centerOf<D>(grid.geometry);
  for (int d = 0; d < D; ++d)
    grid.geometry.originMm[d] = geometry.originMm[d] + (before[d] - after[d]);
  const Vec<D> nearest = geometry.pointToIndex()(grid.geometry.originMm);
  for (int d = 0; d < D; ++d)
    grid.firstVoxel[d] = static_cast<std::size_t>(std::max(0.0, std::floor(nearest[d] + 0.5)));
  return grid;
}

template <int D>
ImageGeometry<D> rescaledGeometry(const ImageGeometry<D>& geometry, const Size<D>& factors)
{
  ImageGeometry<D> rescaled = withFactors<D>(geometry, factors);
  Vec<D> growthMm;
  for (int d = 0; d < D; ++d)
    growthMm[d] = rescaled.spacingMm[d] - geometry.spacingMm[d];
  const Vec<D> shiftMm = apply<D>(geometry.direction, growthMm);
  for (int d = 0; d < D; ++d)
    rescaled.originMm[d] += shiftMm[d] * 0.5;
  return rescaled;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(shrunkGrid<D>, rescaledGeometry<D>);

}
