#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/Math/BSplineKernel.h"

namespace tessera {

/// The control points in whose support a point lies, and their weights. They are found by the same
/// expressions as on the CPU, so that both find the same ones.
template <int D, int Order>
struct SupportOnCuda {
  static constexpr int taps = Order + 1;
  static constexpr int middleTaps = D == 3 ? taps : 1;
  double distance[D]; // distance of the point from the first of them; the argument of bsplineWeights
  double weights[D][taps];
  int first;        // first control point along all axes but the last
  int slices[taps]; // offsets of the slices along the last axis, wrapped if the grid is cyclic
  int rowStride;    // distance between control points along y (3D)

  /// False if the support is not fully inside the grid, or if the point is not a number.
  TESSERA_HOST_DEVICE bool find(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
  {
    int start[D];
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const bool wraps = t.cyclic && d == D - 1;
      double x = t.pointToIndex.along(d, pointMm) - firstKnotOffset<Order>();
      x = wraps ? wrappedTo(t.points[d], x) : x;
      const AxisSupport axis =
          axisSupport(x, wraps ? t.points[d] : t.points[d] - Order, firstKnotOffset<Order>());
      inside = inside && axis.inside;
      start[d] = axis.start;
      distance[d] = axis.distance;
    }
    if (!inside)
      return false;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      bsplineWeights<Order, double>(distance[d], weights[d]);
    rowStride = D == 3 ? t.points[0] : 0;
    first = start[0] + (D == 3 ? start[1] * t.points[0] : 0);
    const int sliceStride = D == 3 ? t.points[0] * t.points[1] : t.points[0];
    TESSERA_UNROLL
    for (int k = 0; k < taps; ++k) {
      const int slice = start[D - 1] + k;
      slices[k] = (slice < t.points[D - 1] ? slice : slice - t.points[D - 1]) * sliceStride;
    }
    return true;
  }

  /// Calls visit(control point, weight) for all of them.
  template <class Visit>
  TESSERA_HOST_DEVICE void forEach(Visit&& visit) const
  {
    TESSERA_UNROLL
    for (int last = 0; last < taps; ++last) {
      TESSERA_UNROLL
      for (int middle = 0; middle < middleTaps; ++middle) {
        const double ofRow = D == 3 ? weights[1][middle] * weights[D - 1][last] : weights[D - 1][last];
        const int row = first + slices[last] + middle * rowStride;
        TESSERA_UNROLL
        for (int k = 0; k < taps; ++k)
          visit(row + k, weights[0][k] * ofRow);
      }
    }
  }
};

}
