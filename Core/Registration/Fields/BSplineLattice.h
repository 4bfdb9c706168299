#pragma once

#include "Core/Registration/Fields/BSplineGrid.h"

#include <optional>

namespace tessera {

/// The field of a grid at the voxels of a lattice; nothing if the grid is cyclic or its axes do not run along
/// those of the lattice. A voxel that lies on the border of the valid region, up to rounding, is inside if
/// its point is.
template <int D>
std::optional<AlignedField<D>> alignedFieldOf(const BSplineGrid<D>&, const ImageGeometry<D>& lattice);

}
