#pragma once

#include "Core/Registration/Fields/FieldMethods.h"

namespace tessera {

// These functions evaluate a chain of transforms at every voxel x of a lattice, in single precision: by the
// given method on the context's device or, without a method, point by point on its threads. On CUDA an
// inverse has kernels of its own (OtherKernels). They throw Error(device) if points are to be evaluated on
// CUDA, except displacements of a transform that is a WholeField.

/// T(x) - x in mm; D components a voxel.
template <int D>
VectorImage<D> displacementField(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                                 const std::optional<FieldMethod<D>>& method = {});

/// det dT/dx, the local change of volume: 1 where T keeps volumes, 0 or less where T folds.
template <int D>
Image<D> jacobianDeterminants(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                              const std::optional<FieldMethod<D>>& method = {});

/// dT_row/dx_column as component row * D + column.
template <int D>
VectorImage<D> jacobianMatrices(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                                const std::optional<FieldMethod<D>>& method = {});

}
