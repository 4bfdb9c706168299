#pragma once

#include "Components/Transforms/Shared/BendingEnergyLines.h"
#include "Components/Transforms/Shared/ExactBendingEnergy.h"

#include <algorithm>

namespace tessera::bending {

/// The number of tiles along a first axis of `points` control points.
inline int tilesOf(int points)
{
  return points <= lanes ? 1 : (points - 2 * reach + columnsOfTile - 1) / columnsOfTile;
}

constexpr int maxSegments = 16;
/// The number of segments of groups that are not whole, if whole groups have `count`.
constexpr int segmentsOfOthers(int count)
{
  return (3 * count + 1) / 2;
}

/// Cuts the second axis into segments, for `lines` of tiles and components, so that an H200 takes the least
/// time. The cut is the same on every device, because the sum of the value depends on it. Rows of groups that
/// are not whole take half as long again, and the begin of a block takes as long as some rows. A block alone
/// on a multiprocessor takes nearly as long as two.
inline void cutRows(int lines, Plan& plan)
{
  constexpr int multiprocessors = 132, atOnce = 2, ofRow = 2, ofRowOfOthers = 3, toBegin = 8;
  const int rows = plan.axes[1].points;
  const auto ofOthers = [&](int count) { return std::min(segmentsOfOthers(count), rows); };
  const auto longest = [&](int count) { return (rows + count - 1) / count; };
  int best = 0;
  for (int count = 1; count <= std::min(maxSegments, rows); ++count) {
    const int others = ofOthers(count),
              blocks = lines * (plan.wholeGroups() * count + plan.otherGroups() * others);
    const int ofBlock = toBegin + std::max(ofRow * longest(count), ofRowOfOthers * longest(others));
    const int cost = std::max((blocks + multiprocessors - 1) / multiprocessors, atOnce) * ofBlock;
    if (count == 1 || cost < best) {
      best = cost;
      plan.segments = count;
      plan.segmentsOfOthers = others;
    }
  }
}

/// The bands of all axes in the units of Bands.
template <int D>
class ScaledBands {
public:
  explicit ScaledBands(const std::array<BendingBands, D>& bands) : bands_(bands)
  {
    for (int p = 0; p < derivatives; ++p)
      middleOfZ_[p] = D == 3 ? middle(2, p) : 1;
    middleOfY_ = middle(1, 0);
  }

  /// Bands of the first axis, which contain the units of the other two.
  double x(int point, int p, int m) const { return band(0, point, p, m) * middleOfY_ * middleOfZ_[2 - p]; }
  /// Bands of the second axis; `which` counts as in Bands::rowsOfY.
  double y(int point, int which, int m) const
  {
    constexpr int derivativesOf[4] = {0, 1, 1, 2}, from[4] = {0, 0, 1, 0}, to[4] = {0, 1, 2, 2};
    return band(1, point, derivativesOf[which], m) * middleOfZ_[from[which]]
           / (middleOfZ_[to[which]] * middleOfY_);
  }
  double z(int point, int p, int m) const
  {
    if constexpr (D == 2)
      return p == 0 && m == reach ? 1 : 0;
    else
      return band(2, point, p, m) / middleOfZ_[p];
  }

private:
  double band(int axis, int point, int p, int m) const
  {
    return bands_[axis].values[static_cast<std::size_t>(point) * BendingBands::perPoint + p * neighbours + m]
           * (p == 2 ? 0.5 : 1) * (axis == D - 1 ? 4 : 1);
  }
  double middle(int axis, int p) const
  {
    return bands_[axis].firstWhole <= bands_[axis].lastWhole ? band(axis, bands_[axis].firstWhole, p, reach)
                                                             : 1;
  }

  const std::array<BendingBands, D>& bands_;
  double middleOfZ_[derivatives], middleOfY_;
};

/// The number of slices for which Bands::rowsOfZ has rows: whole lanes.
inline int slicesOfRows(int points)
{
  return (points + slicesOfLane - 1) / slicesOfLane * slicesOfLane;
}

/// The table that Bands points into: rows of the last axis, bands of the first one, rows of the second one.
template <int D>
std::vector<double> tableOf(const std::array<BendingBands, D>& bands)
{
  const ScaledBands<D> scaled(bands);
  const int nx = bands[0].points, ny = bands[1].points, nz = D == 3 ? bands[D - 1].points : 1;
  std::vector<double> table(static_cast<std::size_t>(slicesOfRows(nz)) * Bands::perRowOfZ);
  for (int z = 0; z < nz; ++z) {
    const int lowest = std::max(std::min(z / slicesOfLane * slicesOfLane - reach, nz - slicesRead), 0);
    for (int p = 0; p < derivatives; ++p)
      for (int at = std::max(z - reach, lowest); at <= std::min(z + reach, nz - 1); ++at)
        table[static_cast<std::size_t>(z) * Bands::perRowOfZ + p * slicesRead + at - lowest] =
            scaled.z(z, p, at - z + reach);
  }
  for (int p = 0; p < derivatives; ++p)
    for (int m = 0; m < neighbours; ++m)
      for (int tile = 0; tile < tilesOf(nx); ++tile)
        for (int lane = 0; lane < lanes; ++lane) {
          const int x = tile * columnsOfTile + lane, to = lane + m - reach;
          table.push_back(x < nx && to >= 0 && to < lanes ? scaled.x(x, p, m) : 0);
        }
  for (int y = 0; y < ny; ++y)
    for (int which = 0; which < 4; ++which)
      for (int m = 0; m < neighbours; ++m)
        table.push_back(scaled.y(y, which, m));
  return table;
}

/// The plan for these axes without its bands. In 2D a last axis of one control point is added.
template <int D>
Plan cutOf(const std::array<Axis, D>& axes)
{
  Plan plan{};
  plan.components = D;
  for (int d = 0; d < 3; ++d)
    plan.axes[d] = d < D ? axes[d] : Axis{1, 0, -1};
  plan.tiles = tilesOf(axes[0].points);
  const Axis& z = plan.axes[2];
  plan.groups = (z.points + slices - 1) / slices;
  plan.firstWholeGroup = (std::max(z.firstWhole, 0) + slices - 1) / slices;
  plan.behindWholeGroups = std::max((z.lastWhole + 1) / slices, plan.firstWholeGroup);
  for (int m = 0; m < slicesRead; ++m)
    plan.sliceBytes[m] =
        sizeof(double) * static_cast<unsigned>(std::min(m, z.points - 1)) * axes[0].points * axes[1].points;
  cutRows(plan.tiles * plan.components, plan);
  return plan;
}

/// The largest number of blocks of a launch, whatever the bands.
inline int maxBlocks(const Plan& plan)
{
  return plan.groups * segmentsOfOthers(maxSegments) * plan.tiles * plan.components;
}

/// The plan with its bands. `table` is tableOf in the memory from which blocks read it, at a multiple of 16
/// bytes.
template <int D>
Plan planOf(const std::array<BendingBands, D>& bands, const double* table)
{
  std::array<Axis, D> axes;
  for (int d = 0; d < D; ++d)
    axes[d] = {bands[d].points, bands[d].firstWhole, bands[d].lastWhole};
  Plan plan = cutOf<D>(axes);
  const ScaledBands<D> scaled(bands);
  Bands& ofPlan = plan.bands;
  for (int m = 0; m <= reach; ++m) {
    if (const Axis& y = plan.axes[1]; y.firstWhole <= y.lastWhole) {
      if (m > 0)
        ofPlan.y0[m - 1] = scaled.y(y.firstWhole, 0, reach + m);
      ofPlan.y1[0][m] = scaled.y(y.firstWhole, 1, reach + m);
      ofPlan.y1[1][m] = scaled.y(y.firstWhole, 2, reach + m);
      ofPlan.y2[m] = scaled.y(y.firstWhole, 3, reach + m);
    }
    if (const Axis& z = plan.axes[2]; m > 0 && z.firstWhole <= z.lastWhole)
      for (int p = 0; p < derivatives; ++p)
        ofPlan.z[p][m - 1] = scaled.z(z.firstWhole, p, reach + m);
  }
  ofPlan.rowsOfZ = table;
  ofPlan.ofX = table + static_cast<std::size_t>(slicesOfRows(plan.axes[2].points)) * Bands::perRowOfZ;
  ofPlan.rowsOfY = ofPlan.ofX + static_cast<std::size_t>(plan.tiles) * lanes * derivatives * neighbours;
  return plan;
}

}
