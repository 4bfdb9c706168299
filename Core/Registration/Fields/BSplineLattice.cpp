#include "Core/Registration/Fields/BSplineLattice.h"

#include <cmath>

namespace tessera {
namespace {

constexpr double directionRounding = 1e-12;
constexpr double onBorder = 1e-9; // in control points; the rounding error of a voxel's point is smaller
constexpr double besideBorder =
    1e-10; // far more than the roundings of first + step * voxel, and nothing to a displacement

template <int D>
bool alongSameAxes(const Matrix<D>& a, const Matrix<D>& b)
{
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      if (!(std::abs(a[i][j] - b[i][j]) <= directionRounding))
        return false;
  return true;
}

/// The axis of a field that agrees with the evaluation point by point about which voxels are inside.
/// pointIndex(voxel) is the grid index that this evaluation has for a voxel of the first row.
template <class PointIndex>
FieldAxis axisBesideBorders(FieldAxis axis, int order, PointIndex&& pointIndex)
{
  // `low` is inside the valid region, `high` is not.
  const double low = (order - 1) / 2.0, high = low + axis.points - order;
  if (!(high > low))
    return axis;
  const auto besideBorderOf = [&](double border, double& index, int& voxel) {
    const double nearest = std::round((border - axis.first) / axis.step);
    if (!(nearest >= 0 && nearest < axis.voxels
          && std::abs(axis.first + axis.step * nearest - border) < onBorder))
      return false;
    voxel = static_cast<int>(nearest);
    index = border + (pointIndex(voxel) >= border ? besideBorder : -besideBorder);
    return true;
  };
  double lowIndex = 0, highIndex = 0;
  int lowVoxel = 0, highVoxel = 0;
  const bool atLow = besideBorderOf(low, lowIndex, lowVoxel),
             atHigh = besideBorderOf(high, highIndex, highVoxel);
  if (atLow && atHigh)
    axis.step = (highIndex - lowIndex) / (highVoxel - lowVoxel);
  if (atLow)
    axis.first = lowIndex - axis.step * lowVoxel;
  else if (atHigh)
    axis.first = highIndex - axis.step * highVoxel;
  return axis;
}

}

template <int D>
std::optional<AlignedField<D>> alignedFieldOf(const BSplineGrid<D>& grid, const ImageGeometry<D>& lattice)
{
  if (grid.cyclic || !alongSameAxes<D>(grid.points.direction, lattice.direction))
    return {};
  const PointToIndex<D> gridIndex = grid.points.pointToIndex();
  const AffineMap<D> pointFromIndex = lattice.pointFromIndex();
  const Vec<D> first = gridIndex(lattice.originMm);
  AlignedField<D> field{.order = grid.order, .indexFromOffset = gridIndex.fromOffset};
  for (int d = 0; d < D; ++d) {
    const FieldAxis axis{first[d], lattice.spacingMm[d] / grid.points.spacingMm[d],
                         static_cast<int>(grid.points.size[d]), static_cast<int>(lattice.size[d])};
    field.axes[d] = axisBesideBorders(axis, grid.order, [&](int voxel) {
      Vec<D> index{};
      index[d] = voxel;
      return gridIndex(pointFromIndex(index))[d];
    });
  }
  return field;
}

TESSERA_INSTANTIATE_FUNCTIONS(alignedFieldOf<D>);

}
