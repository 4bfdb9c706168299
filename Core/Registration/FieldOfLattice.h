#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/FieldMethods.h"

#include <optional>

namespace tessera {

/// Finds what evaluates the last transform of a level's chain by tiles in the voxels of a lattice, and remembers it for the lattice
/// asked for last. That is possible where the lattice is a box of voxels, the transform a B-spline along the box's axes, and its
/// displacements are added to what comes before it.
template <int D>
class FieldOfLattice {
public:
  FieldOfLattice(const TermLevel<D>& level, DeviceKind device) : level_(level), device_(device) {}

  /// Null if the samples have to go point by point. Throws Error(usage) if the transform names a field interpolator that cannot do
  /// it.
  const FieldMethod<D>* at(const SampleSet<D>&);

private:
  std::optional<FieldMethod<D>> find(const VoxelLattice<D>&) const;

  TermLevel<D> level_;
  DeviceKind device_;
  std::optional<VoxelLattice<D>> lattice_; // what method_ was found for
  std::optional<FieldMethod<D>> method_;
};

}
