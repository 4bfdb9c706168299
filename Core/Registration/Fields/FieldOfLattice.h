#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Samples/MadeForLattice.h"

#include <optional>

namespace tessera {

/// The positions of a lattice as the voxels of an image.
template <int D>
ImageGeometry<D> geometryOf(const VoxelLattice<D>&);

/// The field that evaluates the last transform of a chain by tiles at the voxels of a lattice; nothing if the
/// voxels go point by point. There is a field if the lattice is a box of voxels, the transform is a B-spline
/// along the axes of the box, and its displacements are added to the result of the transforms before it.
/// Throws Error(usage) if the transform names a field interpolator that cannot evaluate the field.
template <int D>
std::optional<FieldMethod<D>> fieldOfLattice(const VoxelLattice<D>&, const TransformChain<D>&,
                                             const Registry*, DeviceKind);

/// Keeps the field of the lattice that was asked for last.
template <int D>
class FieldOfLattice {
public:
  FieldOfLattice(const TermLevel<D>& level, DeviceKind device) : level_(level), device_(device) {}

  /// The field for these samples, or null if they go point by point.
  const FieldMethod<D>* at(const SampleSet<D>& set)
  {
    return method_.of(std::get_if<VoxelLattice<D>>(&set), [&](const auto& lattice, auto& method) {
      method = fieldOfLattice<D>(lattice, *level_.chain, level_.registry, device_);
    });
  }

private:
  TermLevel<D> level_;
  DeviceKind device_;
  MadeForLattice<D, FieldMethod<D>> method_;
};

}
