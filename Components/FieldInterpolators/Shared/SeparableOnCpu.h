#pragma once

#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

// An aligned field by contraction axis by axis on the CPU: the control points along x into lines, lines along
// y into planes, and order + 1 finished planes, kept while marching along the last axis, into voxels. 16/t^2
// + 4/t + 4 multiply-adds a voxel and component for a cubic and a grid spacing of t voxels; any spacing and
// phase, since weights are kept per axis and voxel. All in double precision: a value is the exact one rounded
// to single. `coefficients` as FieldCoefficients::onCpu. The same bits for any number of threads.

/// u in mm, D components.
template <int D>
void separableDisplacements(Context&, const AlignedField<D>&, const double* coefficients, const FieldTarget&);

/// dT_row/dx_column of T(x) = x + u(x) as component row * D + column. Throws Error(usage) in the padded
/// layout.
template <int D>
void separableJacobians(Context&, const AlignedField<D>&, const double* coefficients, const FieldTarget&);

/// det dT/dx, one component.
template <int D>
void separableJacobianDeterminants(Context&, const AlignedField<D>&, const double* coefficients,
                                   const FieldTarget&);

}
