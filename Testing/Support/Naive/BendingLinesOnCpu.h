#pragma once

#include "Components/Transforms/Shared/BendingEnergyPlan.h"

#include <deque>
#include <vector>

namespace tessera::testing {

/// A warp of the bending energy's kernel, row by row, its lanes from shuffle to shuffle.
class BendingWarp {
public:
  BendingWarp(const bending::Plan& plan, int block, int tile, int component, int warp,
              const double* coefficients, double* gradient)
  {
    for (int lane = 0; lane < bending::lanes; ++lane)
      places_.emplace_back(plan, block, tile, component, warp, lane);
    for (const bending::Place& place : places_)
      lines_.emplace_back(plan, place, coefficients, gradient);
  }

  double value()
  {
    using namespace bending;
    for (int row = 0; !lines_[0].isDone(); ++row) {
      const int slot = row % neighbours;
      Row e[lanes];
      Passed passed[lanes];
      for (int lane = 0; lane < lanes; ++lane) {
        lines_[lane].contractAlongY(slot, e[lane]);
        passed[lane] = lines_[lane].passFirst(e[lane]);
      }
      shuffle(passed);
      for (Line& line : lines_)
        line.goOn(slot);
      for (int distance = reach - 1; distance > 0; --distance) {
        for (int lane = 0; lane < lanes; ++lane)
          passed[lane] = lines_[lane].passOn(distance, e[lane], passed[lane]);
        shuffle(passed);
      }
      for (int lane = 0; lane < lanes; ++lane)
        lines_[lane].finish(e[lane], passed[lane]);
    }
    double value = 0;
    for (const Line& line : lines_)
      value += line.value();
    return value;
  }

private:
  static void shuffle(bending::Passed (&passed)[bending::lanes])
  {
    using namespace bending;
    Passed received[lanes];
    for (int lane = 0; lane < lanes; ++lane)
      for (int l = 0; l < slicesOfLane; ++l) {
        received[lane].up[l] = passed[(lane + lanes - 1) % lanes].up[l];
        received[lane].down[l] = passed[(lane + 1) % lanes].down[l];
      }
    std::copy(received, received + lanes, passed);
  }

  std::vector<bending::Place> places_;
  std::deque<bending::Line> lines_;
};

/// The blocks of the bending energy's kernel, one after the other.
template <int D>
double bendingByLines(const ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients,
                      double* gradient)
{
  const std::vector<double> table = bending::tableOf<D>(energy.bands());
  const bending::Plan plan = bending::planOf<D>(energy.bands(), table.data());
  double value = 0;
  for (int component = 0; component < plan.components; ++component)
    for (int tile = 0; tile < plan.tiles; ++tile)
      for (int block = 0; block < plan.blocksInLine(); ++block)
        for (int warp = 0; warp < bending::warps; ++warp)
          value += BendingWarp(plan, block, tile, component, warp, coefficients.data(), gradient).value();
  return value;
}

}
