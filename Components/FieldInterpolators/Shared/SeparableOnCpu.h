#pragma once

#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

// An aligned field on the CPU, by contraction axis by axis. For a grid spacing of t voxels, each voxel and
// component of a cubic takes 16/t^2 + 4/t + 4 multiply-adds:
//
//   line(i, k_y, k_z) = sum over k_x of w_x(i, k_x) c(k_x, k_y, k_z)     for each line of control points
//   plane(i, j, k_z)  = sum over k_y of w_y(j, k_y) line(i, k_y, k_z)    for each slice of control points
//   u(i, j, l)        = sum over k_z of w_z(l, k_z) plane(i, j, k_z)     from order + 1 planes that are kept
//
// Spacing and phase may be any, since weights are kept for each axis and voxel. All sums are in double
// precision, so a value is the exact one rounded to single precision. `coefficients` are those of
// FieldCoefficients::onCpu. Results have the same bits for any number of threads.

/// u in mm, D components.
template <int D>
void separableDisplacements(Context&, const AlignedField<D>&, const double* coefficients, const FieldTarget&);

/// dT_row/dx_column of T(x) = x + u(x), as component row * D + column.
template <int D>
void separableJacobians(Context&, const AlignedField<D>&, const double* coefficients, const FieldTarget&);

/// det dT/dx, one component.
template <int D>
void separableJacobianDeterminants(Context&, const AlignedField<D>&, const double* coefficients,
                                   const FieldTarget&);

}
