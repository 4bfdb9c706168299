#pragma once

#include "Core/Registration/Transform.h"

#include <vector>

namespace tessera {

/// Control points of a B-spline displacement field.
template <int D>
struct BSplineGrid {
  ImageGeometry<D> points; // size, spacing, origin and direction of the control points
  int order = 3;           // of the spline, 1 to 3
  bool cyclic = false;     // the last axis wraps, and nothing is displaced along the last component

  std::size_t pointCount() const { return points.voxelCount(); }
  std::size_t parameterCount() const { return D * pointCount(); }

  bool operator==(const BSplineGrid&) const = default;
};

/// The box that grids cover, as an image geometry, and its length beyond that of the fixed image along each
/// axis.
template <int D>
struct GridBox {
  ImageGeometry<D> geometry;
  Vec<D> stretch{};
};

/// The fixed image or, with an initial transform to compose with, the smallest box along the image's axes
/// around the transformed border voxels, by changed origin and spacing.
template <int D>
GridBox<D> boxOfGrids(Context&, const ImageGeometry<D>& fixed, const TransformChain<D>* initial);

/// The grid of `spacingMm` centred on a box. A cyclic grid has whole periods along the last axis and widens
/// its spacing for it. Throws Error(usage) if that would have too many control points or, along a cyclic
/// axis, fewer than order + 1.
template <int D>
BSplineGrid<D> gridOver(const ImageGeometry<D>& box, const Vec<D>& spacingMm, int order, bool cyclic);

/// Coefficients on `to` of the spline that agrees with (`from`, `coefficients`) in the control points of
/// `to`. Both grids have the same order and direction. Outside of `from` the spline is mirrored, and zero
/// beyond half a control point; a cyclic axis wraps. (elastix evaluates the old coefficients as a cubic and
/// mirrors a cyclic axis too; the same for cubics that are not cyclic.)
template <int D>
std::vector<double> refineCoefficients(const BSplineGrid<D>& from, const BSplineGrid<D>& to,
                                       const std::vector<double>& coefficients);

}
