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

constexpr int multiprocessors = 132; // of an H200, on every device: the sum of a value depends on it

/// How blocks share a grid: their outputs along the first two axes, and in how many chunks they take the last one.
struct Cut {
  int outputs;
  int (*chunks)(int layers, int columnsOfBlocks);
};

inline int marchingChunks(int layers, int columnsOfBlocks)
{
  return std::clamp(multiprocessors * blocksAMultiprocessor / columnsOfBlocks, 1, layers);
}

inline constexpr Cut marching{outputs, marchingChunks};

/// Of BendingEnergyMatrices.cuh.
namespace matrices {

constexpr int tile = 16; // outputs of a block along the first two axes
constexpr int batch = 8; // layers that it takes at once

inline int chunks(int layers, int columnsOfBlocks)
{
  constexpr int start = 3; // as long as so many batches: a block's first loads, and the ring until it is full
  int best = 1, least = 0;
  for (int count = 1; count <= layers && (count == 1 || count * columnsOfBlocks <= 2 * multiprocessors); ++count) {
    const int ofChunk = ((layers + count - 1) / count + batch - 1) / batch;
    const int cost = (count * columnsOfBlocks + multiprocessors - 1) / multiprocessors * (ofChunk + start);
    if (count == 1 || cost < least) {
      best = count;
      least = cost;
    }
  }
  return best;
}

inline constexpr Cut cut{tile, chunks};

}

/// `rows` of rowsOf, where the blocks are to read them.
template <int D>
Plan planOf(const std::array<BendingBands, D>& bands, const double* rows, const Cut& cut = marching)
{
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
  plan.tiles[0] = (plan.axes[0].points + cut.outputs - 1) / cut.outputs;
  plan.tiles[1] = (plan.axes[1].points + cut.outputs - 1) / cut.outputs;
  const int layers = plan.axes[2].points, chunks = cut.chunks(layers, plan.tiles[0] * plan.tiles[1] * D);
  plan.chunk = (layers + chunks - 1) / chunks;
  plan.chunks = (layers + plan.chunk - 1) / plan.chunk;
  return plan;
}

}
