#pragma once

#include "Core/Compute/Math/BSplineKernel.h"
#include "Core/Registration/Fields/BSplineGrid.h"

#include <cstring>

namespace tessera {

// The (order + 1)^D control points in whose support a point lies, as rows along x. A row has an index along
// the middle axes (none in 2D, y in 3D, y and z in 4D) and one along the last axis, and fills one vector
// register.

template <int Taps>
struct RowOf {
  using type = double __attribute__((vector_size(32)));
};
template <>
struct RowOf<2> {
  using type = double __attribute__((vector_size(16)));
};
template <int Taps>
using Row = typename RowOf<Taps>::type;

template <int Taps>
TESSERA_ALWAYS_INLINE Row<Taps> loadRow(const double* from)
{
  Row<Taps> row{};
  if constexpr (Taps == 3)
    row = Row<3>{from[0], from[1], from[2], 0};
  else
    std::memcpy(&row, from, sizeof(row));
  return row;
}

template <int Taps>
TESSERA_ALWAYS_INLINE void addToRow(double* to, Row<Taps> row)
{
  if constexpr (Taps == 3) {
    for (int k = 0; k < 3; ++k)
      to[k] += row[k];
  } else {
    row += loadRow<Taps>(to);
    std::memcpy(to, &row, sizeof(row));
  }
}

template <int Taps>
TESSERA_ALWAYS_INLINE double sumOfRow(Row<Taps> row)
{
  if constexpr (Taps == 2)
    return row[0] + row[1];
  else
    return (row[0] + row[2]) + (row[1] + row[3]);
}

/// The data of a grid from which supports are found.
template <int D>
struct SupportFinder {
  PointToIndex<D> pointToIndex{};
  Vec<D> startLimit{};                    // supports begin in [0, startLimit)
  std::array<std::ptrdiff_t, D> stride{}; // distances between control points in memory
  std::ptrdiff_t slices = 0;              // number of control points along the last axis
  bool cyclic = false;

  SupportFinder() = default;
  explicit SupportFinder(const BSplineGrid<D>& grid)
      : pointToIndex(grid.points.pointToIndex()), cyclic(grid.cyclic)
  {
    std::ptrdiff_t product = 1;
    for (int d = 0; d < D; ++d) {
      const auto size = static_cast<std::ptrdiff_t>(grid.points.size[d]);
      startLimit[d] = static_cast<double>(cyclic && d == D - 1 ? size : size - grid.order);
      stride[d] = product;
      product *= size;
    }
    slices = static_cast<std::ptrdiff_t>(grid.points.size[D - 1]);
  }
};

/// The support of one point: its first control point, the distance of the point from it, and the offsets of
/// its slices along the last axis.
template <int D, int Order>
struct Support {
  static constexpr int taps = Order + 1;
  static constexpr int middleTaps = D == 2 ? 1 : D == 3 ? taps : taps * taps; // y changes faster than z

  std::array<std::ptrdiff_t, D> start;
  std::array<double, D> distance;         // in control points; the argument of bsplineWeights
  std::ptrdiff_t rowOffset = 0;           // offset of the first row within a slice
  std::array<std::ptrdiff_t, taps> slice; // offsets along the last axis, wrapped if the grid is cyclic

  static TESSERA_ALWAYS_INLINE std::ptrdiff_t middleOffset(const SupportFinder<D>& finder, int middle)
  {
    if constexpr (D == 4)
      return middle % taps * finder.stride[1] + middle / taps * finder.stride[2];
    return D == 3 ? middle * finder.stride[1] : 0;
  }
  /// The offset of the row (middle, last) in an array over the control points.
  TESSERA_ALWAYS_INLINE std::ptrdiff_t row(const SupportFinder<D>& finder, int middle, int last) const
  {
    return rowOffset + middleOffset(finder, middle) + slice[last] * finder.stride[D - 1];
  }
};

/// The continuous index at which the support of a point begins along one axis, before a cyclic axis wraps it.
template <int D, int Order>
TESSERA_ALWAYS_INLINE double gridIndex(const SupportFinder<D>& finder, const ListSamples<D>& samples,
                                       std::size_t sample, int d)
{
  return finder.pointToIndex.along(d, samples.at(sample)) - firstKnotOffset<Order>();
}

/// False if the support that begins there is not fully inside the grid, or if an index is not a number.
template <int D, int Order>
TESSERA_ALWAYS_INLINE bool supportFrom(const SupportFinder<D>& finder, const double (&x)[D],
                                       Support<D, Order>& support)
{
  bool inside = true;
  for (int d = 0; d < D; ++d) {
    const AxisSupport axis = axisSupport(x[d], finder.startLimit[d], firstKnotOffset<Order>());
    inside = inside && axis.inside;
    support.start[d] = axis.start;
    support.distance[d] = axis.distance;
  }
  if (!inside)
    return false;
  support.rowOffset = support.start[0];
  for (int d = 1; d < D - 1; ++d)
    support.rowOffset += support.start[d] * finder.stride[d];
  for (int k = 0; k <= Order; ++k) {
    const std::ptrdiff_t slice = support.start[D - 1] + k;
    support.slice[k] = slice < finder.slices ? slice : slice - finder.slices;
  }
  return true;
}

/// Weights of the rows along the middle axes; in 2D there is one row.
template <int D, int Order>
TESSERA_ALWAYS_INLINE void middleWeights(const Support<D, Order>& support, double* w)
{
  w[0] = 1;
  if constexpr (D > 2)
    bsplineWeights<Order, double>(support.distance[1], w);
  if constexpr (D == 4) {
    double z[Order + 1];
    bsplineWeights<Order, double>(support.distance[2], z);
    for (int m = Support<D, Order>::middleTaps - 1; m >= 0; --m)
      w[m] = w[m % (Order + 1)] * z[m / (Order + 1)];
  }
}

/// False if the support of the point is not fully inside the grid, or if the point is not a number.
template <int D, int Order>
TESSERA_ALWAYS_INLINE bool findSupport(const SupportFinder<D>& finder, const ListSamples<D>& samples,
                                       std::size_t sample, Support<D, Order>& support)
{
  double x[D];
  for (int d = 0; d < D; ++d)
    x[d] = gridIndex<D, Order>(finder, samples, sample, d);
  if (finder.cyclic)
    x[D - 1] = wrappedTo(static_cast<double>(finder.slices), x[D - 1]);
  return supportFrom<D, Order>(finder, x, support);
}

}
