#pragma once

#include "Core/Compute/Math/BSplineKernel.h"

namespace tessera {

/// One axis of a lattice that runs along an axis of a B-spline grid. Voxel i has the grid index first + step
/// * i; control point 0 has the grid index 0.
struct FieldAxis {
  double first = 0;
  double step = 1;
  int points = 0; // number of control points
  int voxels = 0;
};

/// The control points in whose support a voxel lies. Outside the valid region `start` is the nearest one of a
/// voxel inside it. An axis of fewer than order + 1 control points has no valid region.
TESSERA_HOST_DEVICE inline AxisSupport supportOf(const FieldAxis& axis, int voxel, int order)
{
  const double half = (order - 1) / 2.0, limit = axis.points - order;
  const double x = axis.first + axis.step * voxel - half;
  AxisSupport support = axisSupport(x, limit, half);
  if (x >= limit)
    support.start = axis.points - order - 1;
  return support;
}

/// The weights of the Order + 1 control points, or the derivatives of the weights by the grid index. They are
/// zero outside the valid region.
template <int Order, class Real>
TESSERA_HOST_DEVICE inline void axisWeights(const AxisSupport& support, Real* weights)
{
  double exact[Order + 1];
  bsplineWeights<Order, double>(support.distance, exact);
  for (int k = 0; k <= Order; ++k)
    weights[k] = support.inside ? static_cast<Real>(exact[k]) : Real(0);
}

template <int Order, class Real>
TESSERA_HOST_DEVICE inline void axisDerivatives(const AxisSupport& support, Real* weights)
{
  double exact[Order + 1];
  bsplineDerivatives<Order, double>(support.distance, exact);
  for (int k = 0; k <= Order; ++k)
    weights[k] = support.inside ? static_cast<Real>(exact[k]) : Real(0);
}

}
