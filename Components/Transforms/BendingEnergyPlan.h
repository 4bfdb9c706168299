#pragma once

#include "Components/Transforms/BendingEnergyTiles.h"
#include "Components/Transforms/ExactBendingEnergy.h"

#include <algorithm>

namespace tessera::bending {

/// The rows of all axes one after the other; in 2D then that of a third axis of one control point.
template <int D>
std::vector<double> rowsOf(const std::array<BendingBands, D>& bands)
{
  std::vector<double> rows;
  for (const BendingBands& band : bands)
    rows.insert(rows.end(), band.values.begin(), band.values.end());
  if (D == 2) {
    rows.resize(rows.size() + perPoint);
    rows[rows.size() - perPoint + reach] = 1;
  }
  return rows;
}

/// `rows` of rowsOf, where the blocks are to read them.
template <int D>
Plan planOf(const std::array<BendingBands, D>& bands, const double* rows)
{
  constexpr int blocksAWave = 132 * blocksAMultiprocessor; // of an H200, on every device: the sum of a value depends on it
  Plan plan{};
  plan.components = D;
  for (int d = 0; d < 3; ++d) {
    Axis& axis = plan.axes[d];
    axis = {1, 0, -1, {}, rows};
    rows += perPoint;
    if (d >= D)
      continue;
    axis.points = bands[d].points;
    axis.firstWhole = bands[d].firstWhole;
    axis.lastWhole = bands[d].lastWhole;
    rows += static_cast<std::size_t>(axis.points - 1) * perPoint;
    for (int p = 0; p < 3 && axis.firstWhole <= axis.lastWhole; ++p)
      for (int m = 0; m <= reach; ++m)
        axis.whole[p][m] = bands[d].values[axis.firstWhole * perPoint + p * neighbours + reach + m];
  }
  plan.tiles[0] = (plan.axes[0].points + outputs - 1) / outputs;
  plan.tiles[1] = (plan.axes[1].points + outputs - 1) / outputs;
  const int columns = plan.tiles[0] * plan.tiles[1] * D, layers = plan.axes[2].points;
  const int chunks = std::clamp(blocksAWave / columns, 1, layers);
  plan.chunk = (layers + chunks - 1) / chunks;
  plan.chunks = (layers + plan.chunk - 1) / plan.chunk;
  return plan;
}

}
