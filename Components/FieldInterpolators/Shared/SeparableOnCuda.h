#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"
#include "Core/Registration/FieldInterpolator.h"

#include <array>

namespace tessera {

// An aligned field on CUDA, by contraction axis by axis, for any grid spacing of at least one voxel and any
// phase. `coefficients` are those of FieldCoefficients::onCuda. Eq. 1 of Zachariadis et al., "Accelerating
// B-spline interpolation on GPUs", 2020, is computed one sum after the other. A block writes 32 W x rows x
// depth voxels:
//
//   along(k_x, k_y, l) = sum over k_z of w_z(l, k_z) c(k_x, k_y, k_z)       into shared memory
//   for each row j, from y = 0 on, in every thread (i, l):
//     when j passes a control point:
//       ring(newest)   = sum over k_x of w_x(i, k_x) along(k_x, k_y, l)     order + 1 sums in registers
//     u(i, j, l)       = sum over k_y of w_y(j, k_y) ring(k_y)
//
// For a grid spacing of t voxels, each voxel and component of a cubic takes 4 + 4/t + 4/t^2 multiply-adds.
// Each voxel is written once. A control point is read about (t/rows)(4 + rows/t) (t/32W)(4 + 32W/t)
// (t/depth)(4 + depth/t) times, mostly from the caches.

/// u in mm, D components.
template <int D>
TESSERA_CUDA_ONLY void separableDisplacementsOnCuda(Context&, const AlignedField<D>&,
                                                    const float* coefficients, const FieldTarget&);

/// The launch of a cubic field in 3D with planar values: blocks along each axis, and the parts of a block.
struct SeparableLaunch {
  LaunchShape shape;
  std::array<unsigned, 3> grid;
  int warps, depth, rows, lines, width; // warps along x, lines and width of control points in shared memory
};
TESSERA_CUDA_ONLY SeparableLaunch separableDisplacementsLaunch(const AlignedField<3>&);

/// dT_row/dx_column of T(x) = x + u(x) as component row * D + column.
template <int D>
TESSERA_CUDA_ONLY void separableJacobiansOnCuda(Context&, const AlignedField<D>&, const float* coefficients,
                                                const FieldTarget&);

/// det dT/dx, one component.
template <int D>
TESSERA_CUDA_ONLY void separableJacobianDeterminantsOnCuda(Context&, const AlignedField<D>&,
                                                           const float* coefficients, const FieldTarget&);

}
