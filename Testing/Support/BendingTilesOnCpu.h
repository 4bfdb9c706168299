#pragma once

#include "Components/Transforms/BendingEnergyPlan.h"

#include <cmath>
#include <memory>
#include <vector>

namespace tessera::testing {

/// The blocks of the bending energy's kernel, one after the other; their threads too, from barrier to barrier. What is not written
/// before it is read is no number.
template <int D>
double bendingByTiles(const ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients, double* gradient)
{
  using namespace bending;
  const std::vector<double> rows = rowsOf<D>(energy.bands());
  const Plan plan = planOf<D>(energy.bands(), rows.data());
  const auto shared = std::make_unique<Shared>();
  double value = 0;
  for (int block = 0; block < plan.blocks(); ++block) {
    const Tile tile(plan, block);
    std::fill_n(reinterpret_cast<double*>(shared.get()), sizeof(Shared) / sizeof(double), NAN);
    for (int t = 0; t < threads; ++t) {
      fillRows(plan.axes[0], tile.x, shared->x, groups * group, t);
      fillRows(plan.axes[1], tile.y, shared->y, groups * group, t);
    }
    std::vector<Columns> columns(threads);
    for (int t = 0; t < threads; ++t)
      columns[t].begin(plan, tile, coefficients.data(), t, tile.z);
    for (int layer = tile.z; layer < tile.z + tile.layers; ++layer) {
      for (int t = 0; t < threads; ++t) {
        double next[columnsAThread];
        for (int j = 0; j < columnsAThread; ++j)
          next[j] = Columns::coefficient(plan, tile, coefficients.data(), t, j, layer + reach);
        columns[t].advance(next);
        columns[t].contract(plan.axes[2], layer, t, *shared);
      }
      for (int t = 0; t < threads; ++t)
        contractAlongX(plan, tile, *shared, t);
      for (int t = 0; t < threads; ++t)
        value += contractAlongY(plan, tile, *shared, layer, t, coefficients.data(), gradient);
    }
  }
  return value;
}

}
