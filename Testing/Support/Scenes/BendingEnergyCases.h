#pragma once

#include "Components/Transforms/Shared/ExactBendingEnergy.h"
#include "Testing/Support/Checks/FieldChecks.h"
#include "Testing/Support/Checks/TransformChecks.h"

#include <cmath>
#include <memory>
#include <vector>

namespace tessera::testing {

/// A grid of unequal spacings, turned in the plane of the first two axes.
template <int D>
BSplineGrid<D> turnedGrid(const Size<D>& points, int order = 3)
{
  BSplineGrid<D> grid;
  grid.order = order;
  grid.points.size = points;
  for (int d = 0; d < D; ++d) {
    grid.points.spacingMm[d] = 6 + 2.5 * d;
    grid.points.originMm[d] = -20 + 7 * d;
  }
  const double turn = 0.4;
  grid.points.direction[0][0] = grid.points.direction[1][1] = std::cos(turn);
  grid.points.direction[1][0] = std::sin(turn);
  grid.points.direction[0][1] = -std::sin(turn);
  return grid;
}

/// An image along the grid's axes whose first and last voxel centres are at these grid indices.
template <int D>
ImageGeometry<D> imageInGrid(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  ImageGeometry<D> image{.originMm = grid.points.pointFromIndex()(low), .direction = grid.points.direction};
  for (int d = 0; d < D; ++d) {
    image.size[d] = high[d] > low[d] ? 11 : 1;
    image.spacingMm[d] = high[d] > low[d] ? (high[d] - low[d]) * grid.points.spacingMm[d] / 10 : 1;
  }
  return image;
}

/// Displacements of the control points of some mm.
template <int D>
std::vector<double> displacedPoints(const BSplineGrid<D>& grid, std::uint64_t seed)
{
  return checks::randomVector(grid.parameterCount(), seed, -3, 3);
}

/// Voxels first, first + step .. of an image within a turned grid; `low` and `high` in control points are
/// those of the whole image.
template <int D>
VoxelLattice<D> latticeIn(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high, std::size_t step)
{
  Image<D> image{imageInGrid<D>(grid, low, high), {}};
  VoxelLattice<D> lattice{nullptr, nullptr, {}, {}, {}};
  lattice.step.fill(step);
  for (int d = 0; d < D; ++d) {
    lattice.first[d] = step / 2;
    lattice.count[d] = (image.geometry.size[d] - 1 - lattice.first[d]) / step + 1;
  }
  lattice.image = std::make_shared<Image<D>>(std::move(image));
  return lattice;
}

/// The energy and, if asked for, its gradient on the CPU.
template <int D>
double energyOf(ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients,
                std::vector<double>* gradient = nullptr, int threadCount = 2)
{
  Context context = threads(threadCount);
  if (!gradient)
    return energy.evaluate(context, coefficients, {});
  gradient->assign(coefficients.size(), 1e30); // must be overwritten
  return energy.evaluate(context, coefficients, *gradient);
}

}
