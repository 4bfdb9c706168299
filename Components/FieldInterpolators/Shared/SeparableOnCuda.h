#pragma once

#include "Core/Compute/CudaOnly.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

// An aligned field by contraction axis by axis on CUDA; any grid spacing of at least one voxel, and any
// phase. `coefficients` as FieldCoefficients::onCuda.
//
// A block writes a slab of 32 W x rows x depth voxels. It first contracts the control points it needs along z
// into shared memory; then every thread, one x and one z, marches along y: when a row passes a control point
// it contracts that line along x and keeps order + 1 of these in registers, and each voxel is order + 1
// multiply-adds of them. 4 + 4/t + 4/t^2 multiply-adds a voxel and component for a cubic and a grid spacing
// of t voxels. Bytes: each voxel is written once; a control point is read about (t/rows)(4 + rows/t)
// (t/32W)(4 + 32W/t) (t/depth)(4 + depth/t) times, mostly from the caches.

/// u in mm, D components.
template <int D>
TESSERA_CUDA_ONLY void separableDisplacementsOnCuda(Context&, const AlignedField<D>&,
                                                    const float* coefficients, const FieldTarget&);

/// dT_row/dx_column of T(x) = x + u(x) as component row * D + column.
template <int D>
TESSERA_CUDA_ONLY void separableJacobiansOnCuda(Context&, const AlignedField<D>&, const float* coefficients,
                                                const FieldTarget&);

/// det dT/dx, one component.
template <int D>
TESSERA_CUDA_ONLY void separableJacobianDeterminantsOnCuda(Context&, const AlignedField<D>&,
                                                           const float* coefficients, const FieldTarget&);

}
