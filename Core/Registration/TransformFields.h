#pragma once

#include "Core/Registration/Transform.h"

namespace tessera {

// What a chain of transforms does at every voxel x of a lattice, in float, on the context's threads.

/// T(x) - x in mm; D components a voxel.
template <int D>
VectorImage<D> displacementField(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice);

/// det dT/dx: local change of volume, 1 for none, not above 0 where T folds.
template <int D>
Image<D> jacobianDeterminants(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice);

/// dT_row/dx_column as component row * D + column.
template <int D>
VectorImage<D> jacobianMatrices(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice);

}
