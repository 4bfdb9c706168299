#pragma once

#include "Components/Transforms/BendingEnergyPlan.h"

#include <deque>
#include <vector>

namespace tessera::testing {

/// The warps of a block of the bending energy's kernel, row by row, their lanes from shuffle to shuffle.
template <bool Paired>
class BendingBlock {
public:
  BendingBlock(const bending::Plan& plan, int block, const double* coefficients, double* gradient)
  {
    for (int thread = 0; thread < bending::threads; ++thread)
      places_.emplace_back(plan, block, thread / bending::lanes, thread % bending::lanes);
    for (const bending::Place& place : places_)
      lines_.emplace_back(plan, place, coefficients, gradient);
  }

  double value()
  {
    using namespace bending;
    for (int warp = 0; warp < warps; ++warp) // up to the barrier
      for (int row = 0; row < reach; ++row)
        goOn(warp);
    double value = 0;
    for (int warp = 0; warp < warps; ++warp) {
      while (line(warp, 0).hasRows() || line(warp, 0).hasOutputs())
        goOn(warp);
      for (int lane = 0; lane < lanes; ++lane)
        value += line(warp, lane).value();
    }
    return value;
  }

private:
  bending::Line<Paired>& line(int warp, int lane) { return lines_[warp * bending::lanes + lane]; }

  /// Lanes next to a warp have numbers that show wherever they are not weighed by 0.
  void goOn(int warp)
  {
    using namespace bending;
    constexpr double outside = 1e30;
    AlongZ f[lanes];
    const bool hasRows = line(warp, 0).hasRows();
    for (int lane = 0; lane < lanes && hasRows; ++lane)
      line(warp, lane).contractAlongZ(f[lane]);
    for (int lane = 0; lane < lanes; ++lane) {
      Line<Paired>& here = line(warp, lane);
      double done[2];
      if (hasRows)
        here.add(
            f[lane], [&](int q, int c, int by) { return lane + by < 0 || lane + by >= lanes ? outside : f[lane + by][q][c]; },
            done);
      else
        here.next(done);
      for (int c = 0; c < 2; ++c)
        if (here.isPartners())
          exchanged_[warp][here.exchanged()][lane][c] = done[c];
        else if (here.lacksPartners())
          done[c] += exchanged_[warp ^ 1][here.exchanged()][lane][c];
      here.finish(done);
    }
  }

  std::vector<bending::Place> places_;
  std::deque<bending::Line<Paired>> lines_;
  double exchanged_[bending::warps][bending::reach][bending::lanes][2];
};

/// The blocks of the bending energy's kernel, one after the other.
template <int D, bool Paired>
double bendingByLines(const ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients, double* gradient)
{
  const std::vector<double> table = bending::tableOf<D>(energy.bands());
  const bending::Plan plan = bending::planOf<D>(energy.bands(), table.data());
  double value = 0;
  for (int block = 0; block < bending::blocksOf(plan); ++block)
    value += BendingBlock<Paired>(plan, block, coefficients.data(), gradient).value();
  return value;
}

}
