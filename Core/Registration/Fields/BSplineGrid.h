#pragma once

#include "Core/Registration/Transform.h"

#include <vector>

namespace tessera {

/// The control points of a B-spline displacement field.
template <int D>
struct BSplineGrid {
  ImageGeometry<D> points = {}; // size, spacing, origin and direction of the control points
  int order = 3;                // order of the spline, 1 to 3
  bool cyclic = false;          // the last axis wraps, and nothing is displaced along the last component

  std::size_t pointCount() const { return points.voxelCount(); }
  std::size_t parameterCount() const { return D * pointCount(); }

  bool operator==(const BSplineGrid&) const = default;
};

/// The box that grids cover, as an image geometry, and by how much it is longer than the fixed image along
/// each axis.
template <int D>
struct GridBox {
  ImageGeometry<D> geometry;
  Vec<D> stretch{};
};

/// The fixed image or, if the B-spline is composed with an initial transform, the smallest box along the
/// image's axes that contains the transformed border voxels. The box differs from the image in origin and
/// spacing.
template <int D>
GridBox<D> boxOfGrids(Context&, const ImageGeometry<D>& fixed, const TransformChain<D>* initial);

/// A grid with spacing `spacingMm`, centred on a box. A cyclic grid has whole periods along the last axis;
/// its spacing there is widened for this. Throws Error(usage) if the grid would have too many control points
/// or, along a cyclic axis, fewer than order + 1.
template <int D>
BSplineGrid<D> gridOver(const ImageGeometry<D>& box, const Vec<D>& spacingMm, int order, bool cyclic);

/// Coefficients on the grid `to` of the spline that equals (`from`, `coefficients`) at the control points of
/// `to`. Both grids must have the same order and direction. Outside of `from` the spline is mirrored, and it
/// is zero more than half a control point outside; a cyclic axis wraps. elastix evaluates old coefficients as
/// a cubic of any order and mirrors cyclic axes too; for cubics that are not cyclic the results are the same.
template <int D>
std::vector<double> refineCoefficients(const Context&, const BSplineGrid<D>& from, const BSplineGrid<D>& to,
                                       std::span<const double> coefficients);

}
