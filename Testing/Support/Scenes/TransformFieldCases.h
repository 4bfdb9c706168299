#pragma once

#include "Core/Registration/Fields/TransformFields.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Scenes/BSplineChains.h"

#include <vector>

namespace tessera::testing {

constexpr double largestMm = 8;

/// A B-spline and a lattice along its axes.
template <int D>
struct TransformFieldCase {
  ImageGeometry<D> lattice;
  TransformChain<D> chain;
  std::string text;

  TransformFieldCase(const ImageGeometry<D>& along, const Vec<D>& spacingVoxels, int order,
                     const Vec<D>& moveMm)
      : lattice(along),
        chain(randomBSplineChain<D>(gridAcross<D>(along, spacingVoxels, order, moveMm), largestMm)),
        text("order " + std::to_string(order) + ", spacing " + std::to_string(spacingVoxels[0]) + " voxels")
  {
  }
  /// The method that the name stands for on a device.
  std::optional<FieldMethod<D>> method(const std::string& name, DeviceKind device,
                                       FieldQuantity quantity) const
  {
    return FieldMethods<D>(allComponents(), chain, lattice, name, name).choose(device, quantity);
  }
};

/// Awkward sizes, whole and fractional spacings, lattices inside and partly outside the grid.
template <int D>
std::vector<TransformFieldCase<D>> transformFieldCases(const std::vector<Vec<D>>& spacingsVoxels,
                                                       const std::vector<int>& orders)
{
  std::vector<ImageGeometry<D>> lattices;
  if constexpr (D == 3)
    lattices = {turnedLattice<3>({17, 19, 23}, {0.737, 1.1, 2.5}), turnedLattice<3>({1, 64, 9}, {1, 1, 1})};
  else
    lattices = {turnedLattice<2>({61, 38}, {0.7, 1.3}), turnedLattice<2>({1, 64}, {1, 1})};
  std::vector<TransformFieldCase<D>> cases;
  for (const ImageGeometry<D>& lattice : lattices)
    for (const Vec<D>& spacing : spacingsVoxels)
      for (const int order : orders) {
        Vec<D> little, outside; // so that no voxel lies on a knot or a border, where rounding alone decides
                                // on which side
        for (int d = 0; d < D; ++d) {
          const double lengthMm = static_cast<double>(lattice.size[d]) * lattice.spacingMm[d];
          little[d] = 0.0137 * lattice.spacingMm[d];
          outside[d] = (d % 2 ? -0.4173 : 0.6129) * lengthMm;
        }
        cases.emplace_back(lattice, spacing, order, little);
        cases.emplace_back(lattice, spacing, order, outside);
      }
  return cases;
}

}
