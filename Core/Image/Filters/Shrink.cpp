#include "Core/Image/Filters/Shrink.h"

#include <itkImage.h>

#include <algorithm>

namespace tessera {
namespace {

template <int D>
using GeometryHolder = itk::Image<unsigned char, D>;

/// An ITK image that has a grid but no voxels.
template <int D>
typename GeometryHolder<D>::Pointer itkGeometry(const ImageGeometry<D>& geometry)
{
  const auto holder = GeometryHolder<D>::New();
  typename GeometryHolder<D>::SpacingType spacing;
  typename GeometryHolder<D>::PointType origin;
  typename GeometryHolder<D>::DirectionType direction;
  for (int i = 0; i < D; ++i) {
    spacing[i] = geometry.spacingMm[i];
    origin[i] = geometry.originMm[i];
    for (int j = 0; j < D; ++j)
      direction[i][j] = geometry.direction[i][j];
  }
  holder->SetSpacing(spacing);
  holder->SetOrigin(origin);
  holder->SetDirection(direction);
  return holder;
}

template <int D>
typename GeometryHolder<D>::PointType centerOf(const GeometryHolder<D>& holder, const Size<D>& size)
{
  itk::ContinuousIndex<double, D> center;
  for (int d = 0; d < D; ++d)
    center[d] = (static_cast<double>(size[d]) - 1) / 2;
  typename GeometryHolder<D>::PointType point;
  holder.TransformContinuousIndexToPhysicalPoint(center, point);
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
  const auto before = itkGeometry<D>(geometry), after = itkGeometry<D>(grid.geometry);
  const auto origin =
      before->GetOrigin() + (centerOf<D>(*before, geometry.size) - centerOf<D>(*after, grid.geometry.size));
  const auto nearest = before->TransformPhysicalPointToIndex(origin);
  for (int d = 0; d < D; ++d) {
    grid.geometry.originMm[d] = origin[d];
    grid.firstVoxel[d] = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, nearest[d]));
  }
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

template ShrunkGrid<2> shrunkGrid<2>(const ImageGeometry<2>&, const Size<2>&);
template ShrunkGrid<3> shrunkGrid<3>(const ImageGeometry<3>&, const Size<3>&);
template ImageGeometry<2> rescaledGeometry<2>(const ImageGeometry<2>&, const Size<2>&);
template ImageGeometry<3> rescaledGeometry<3>(const ImageGeometry<3>&, const Size<3>&);

}
