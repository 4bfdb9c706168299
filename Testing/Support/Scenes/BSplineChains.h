#pragma once

#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/Shared/BSplineGridFile.h"
#include "Core/Parameters/ParameterText.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"

namespace tessera::testing {

/// A lattice with its axes along turned ones, far from the origin.
template <int D>
ImageGeometry<D> turnedLattice(const Size<D>& size, const Vec<D>& spacingMm)
{
  ImageGeometry<D> lattice{size, spacingMm, {}, identityMatrix<D>()};
  for (int d = 0; d < D; ++d)
    lattice.originMm[d] = 100.3 - 70.7 * d;
  const double c = std::cos(0.3), s = std::sin(0.3);
  lattice.direction[0][0] = c;
  lattice.direction[0][1] = -s;
  lattice.direction[1][0] = s;
  lattice.direction[1][1] = c;
  if constexpr (D == 3)
    lattice.direction = multiply<3>(lattice.direction, {{{1, 0, 0}, {0, 0.8, -0.6}, {0, 0.6, 0.8}}});
  return lattice;
}

/// A single B-spline transform, by way of the text of its file; `entries` stand in it too.
template <int D>
TransformChain<D> bsplineChain(const BSplineGrid<D>& grid, const std::vector<double>& coefficients,
                               const std::string& entries = "")
{
  std::string text = entries;
  for (const FileEntry& entry : gridEntries<D>(grid)) {
    text += "(" + entry.name;
    for (const std::string& value : entry.texts)
      text += " \"" + value + "\"";
    for (const double number : entry.numbers)
      text += " " + realText(number);
    text += ")\n";
  }
  text += "(TransformParameters";
  for (const double value : coefficients)
    text += " " + realText(value);
  const Parameters parameters = parametersOf(text + ")\n", D, 1, "");
  auto transform = std::make_shared<BSplineTransform<D>>(parameters);
  return {.transform = transform, .parameters = transform->restore({}, parameters)};
}

/// With random coefficients of at most `largestMm`.
template <int D>
TransformChain<D> randomBSplineChain(const BSplineGrid<D>& grid, double largestMm,
                                     const std::string& entries = "")
{
  return bsplineChain<D>(grid, checks::randomVector(grid.parameterCount(), 5, -largestMm, largestMm),
                         entries);
}

/// The grid of this spacing over a lattice, moved by `moveMm` along its axes, so that a part of the lattice
/// lies outside.
template <int D>
BSplineGrid<D> gridAcross(const ImageGeometry<D>& lattice, const Vec<D>& spacingVoxels, int order,
                          const Vec<D>& moveMm = {})
{
  Vec<D> spacingMm;
  for (int d = 0; d < D; ++d)
    spacingMm[d] = spacingVoxels[d] * lattice.spacingMm[d];
  BSplineGrid<D> grid = gridOver<D>(lattice, spacingMm, order, false);
  grid.points.originMm = AffineMap<D>{grid.points.direction, grid.points.originMm}(moveMm);
  return grid;
}

}
