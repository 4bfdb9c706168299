#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Fields/FieldMethods.h"

#include <optional>

namespace tessera {

/// The field that evaluates the last transform of a chain by tiles in the voxels of a lattice; nothing if the
/// voxels have to go point by point. A field needs a lattice that is a box of voxels, a B-spline along the
/// axes of the box, and displacements that are added to the result of the transforms before it. Throws
/// Error(usage) if the transform names a field interpolator that cannot do it.
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
