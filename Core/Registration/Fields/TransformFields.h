#pragma once

#include "Core/Registration/Fields/FieldMethods.h"

namespace tessera {

// Evaluates a chain of transforms at every voxel x of a lattice, in float: by the given method on the
// context's device or, without a method, point by point on its threads. Throws Error(device) for points on
// CUDA.

/// T(x) - x in mm; D components a voxel.
template <int D>
VectorImage<D> displacementField(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                                 const std::optional<FieldMethod<D>>& method = {});

/// det dT/dx: local change of volume, 1 for none, not above 0 where T folds.
template <int D>
Image<D> jacobianDeterminants(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                              const std::optional<FieldMethod<D>>& method = {});

/// dT_row/dx_column as component row * D + column.
template <int D>
VectorImage<D> jacobianMatrices(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                                const std::optional<FieldMethod<D>>& method = {});

}
