#pragma once

#include "Components/Transforms/Shared/BSplineGrid.h"

#include <optional>

namespace tessera {

/// The voxels of a lattice in a grid whose axes run along the lattice's; nothing if they do not, or if the
/// grid is cyclic. A voxel on the border of the valid region to rounding lies on the side where its point
/// does.
template <int D>
std::optional<AlignedField<D>> alignedFieldOf(const BSplineGrid<D>&, const ImageGeometry<D>& lattice);

}
