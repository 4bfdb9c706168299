#pragma once

#include "Components/Transforms/BendingEnergyLines.h"
#include "Components/Transforms/ExactBendingEnergy.h"

#include <algorithm>

namespace tessera::bending {

/// Parts of the first axis of `points` control points: a warp's columns are a part's outputs and those that they depend on, which
/// the first and the last part have on one side only.
inline int tilesOf(int points, int* width)
{
  for (int tiles = 1;; ++tiles) {
    *width = ((points + tiles - 1) / tiles + 1) & ~1;
    const int ofFirst = tiles == 1 ? points : *width + reach, ofLast = points - (tiles - 1) * *width + reach + 1,
              ofOthers = *width + 2 * reach + 1;
    if (ofFirst <= columnsOfWarp && (tiles == 1 || ofLast <= columnsOfWarp) && (tiles <= 2 || ofOthers <= columnsOfWarp))
      return tiles;
  }
}

/// Segments of the second axis, which `blocks` blocks go through each: as many as end soonest on an H200, on every device, as the
/// sum of a value depends on it. Blocks alone on a multiprocessor take nearly as long as two.
inline int segmentsOf(int rows, int blocks)
{
  constexpr int multiprocessors = 132, atOnce = 2, most = 16, shortest = 2 * reach;
  int best = 1, least = 0;
  for (int count = 1; count == 1 || (count <= most && count * shortest <= rows); ++count) {
    const int ofWarp = ((rows + count - 1) / count + 1) / 2 + (count > 1 ? reach : 1);
    const int cost = std::max((count * blocks + multiprocessors - 1) / multiprocessors, atOnce) * ofWarp;
    if (count == 1 || cost < least) {
      best = count;
      least = cost;
    }
  }
  return best;
}

/// `bands` as Axis has them.
template <int D>
double scaledBand(const BendingBands& bands, int axis, int point, int p, int m)
{
  return bands.values[static_cast<std::size_t>(point) * perPoint + p * neighbours + m] * (p == 2 ? 0.5 : 1)
         * (axis == D - 1 ? 4 : 1);
}

inline int pitchOfColumns(int points)
{
  return (points + 1) / 2 * 2 + columnsOfWarp;
}

/// Numbers of tableOf.
inline std::size_t tableSize(const Plan& cut)
{
  return static_cast<std::size_t>(pitchOfColumns(cut.axes[0].points) + cut.axes[1].points + cut.axes[2].points) * perPoint;
}

/// What Plan points to: the bands of the first axis by columns, and then the rows of the second and the last one; in 2D the last
/// one is one control point of band 1.
template <int D>
std::vector<double> tableOf(const std::array<BendingBands, D>& bands)
{
  const int pitch = pitchOfColumns(bands[0].points);
  std::vector<double> table(static_cast<std::size_t>(pitch) * perPoint);
  for (int point = 0; point < bands[0].points; ++point)
    for (int p = 0; p < 3; ++p)
      for (int m = 0; m < neighbours; ++m)
        table[static_cast<std::size_t>(p * neighbours + m) * pitch + point] = scaledBand<D>(bands[0], 0, point, p, m);
  for (int d = 1; d < D; ++d)
    for (int point = 0; point < bands[d].points; ++point)
      for (int p = 0; p < 3; ++p)
        for (int m = 0; m < neighbours; ++m)
          table.push_back(scaledBand<D>(bands[d], d, point, p, m));
  if (D == 2) {
    table.resize(table.size() + perPoint);
    table[table.size() - perPoint + reach] = 1;
  }
  return table;
}

/// How warps share a grid of so many control points; without bands.
template <int D>
Plan cutOf(const std::array<int, D>& points)
{
  Plan plan{};
  plan.components = D;
  for (int d = 0; d < 3; ++d)
    plan.axes[d] = {d < D ? points[d] : 1, 0, -1, {}, nullptr};
  plan.tiles = tilesOf(points[0], &plan.width);
  plan.groups = (plan.axes[2].points + layers - 1) / layers;
  plan.segments = segmentsOf(points[1], plan.tiles * plan.groups * D);
  plan.length = (points[1] + plan.segments - 1) / plan.segments;
  plan.segments = (points[1] + plan.length - 1) / plan.length;
  return plan;
}

/// `table` of tableOf, where the blocks are to read it.
template <int D>
Plan planOf(const std::array<BendingBands, D>& bands, const double* table)
{
  std::array<int, D> points;
  for (int d = 0; d < D; ++d)
    points[d] = bands[d].points;
  Plan plan = cutOf<D>(points);
  plan.bandsOfX = table;
  plan.pitchOfX = pitchOfColumns(points[0]);
  const double* rows = table + static_cast<std::size_t>(plan.pitchOfX) * perPoint;
  for (int d = 1; d < 3; ++d) {
    Axis& axis = plan.axes[d];
    axis.rows = rows;
    rows += static_cast<std::size_t>(axis.points) * perPoint;
    if (d >= D || bands[d].firstWhole > bands[d].lastWhole)
      continue;
    axis.firstWhole = bands[d].firstWhole;
    axis.lastWhole = bands[d].lastWhole;
    for (int p = 0; p < 3; ++p)
      for (int m = 0; m <= reach; ++m)
        axis.whole[p][m] = scaledBand<D>(bands[d], d, axis.firstWhole, p, reach + m);
  }
  return plan;
}

inline int blocksOf(const Plan& plan)
{
  return plan.tiles * plan.groups * plan.segments * plan.components;
}

}
