#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Fields/FieldMethods.h"

#include <optional>

namespace tessera {

/// What evaluates the last transform of a chain by tiles in the voxels of a lattice; nothing if they have to
/// go point by point. It is possible where the lattice is a box of voxels, the transform a B-spline along the
/// box's axes, and its displacements are added to what comes before it. Throws Error(usage) if the transform
/// names a field interpolator that cannot do it.
template <int D>
std::optional<FieldMethod<D>> fieldOfLattice(const VoxelLattice<D>&, const TransformChain<D>&,
                                             const Registry*, DeviceKind);

/// Remembers it for the lattice of a level that was asked for last.
template <int D>
class FieldOfLattice {
public:
  FieldOfLattice(const TermLevel<D>& level, DeviceKind device) : level_(level), device_(device) {}

  /// Null if the samples have to go point by point.
  const FieldMethod<D>* at(const SampleSet<D>&);

private:
  TermLevel<D> level_;
  DeviceKind device_;
  std::optional<VoxelLattice<D>> lattice_; // what method_ was found for
  std::optional<FieldMethod<D>> method_;
};

}
