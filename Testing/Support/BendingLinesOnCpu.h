#pragma once

#include "Components/Transforms/BendingEnergyPlan.h"

#include <deque>
#include <vector>

namespace tessera::testing {

/// The warps of the bending energy's kernel, one after the other, their lanes from shuffle to shuffle. Lanes next to a warp have
/// numbers that show wherever they are not weighed by 0.
template <int D, bool Paired>
double bendingByLines(const ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients, double* gradient)
{
  using namespace bending;
  const std::vector<double> table = tableOf<D>(energy.bands());
  const Plan plan = planOf<D>(energy.bands(), table.data());
  constexpr double outside = 1e30;
  double value = 0;
  for (int block = 0; block < blocksOf(plan); ++block)
    for (int warp = 0; warp < warps; ++warp) {
      std::vector<Place> places;
      std::deque<Line<Paired>> lines;
      for (int lane = 0; lane < lanes; ++lane)
        places.emplace_back(plan, block, warp, lane);
      if (places[0].z >= plan.axes[2].points)
        continue;
      for (const Place& place : places)
        lines.emplace_back(plan, place, coefficients.data(), gradient);
      while (!lines[0].atEnd()) {
        AlongZ f[lanes];
        for (int lane = 0; lane < lanes; ++lane)
          lines[lane].contractAlongZ(f[lane]);
        for (int lane = 0; lane < lanes; ++lane)
          lines[lane].add(f[lane],
                          [&](int q, int c, int by) { return lane + by < 0 || lane + by >= lanes ? outside : f[lane + by][q][c]; });
      }
      for (const Line<Paired>& line : lines)
        value += line.value();
    }
  return value;
}

}
