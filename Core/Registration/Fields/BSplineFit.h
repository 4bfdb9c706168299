#pragma once

#include "Core/Image/Image.h"
#include "Core/Registration/Fields/BSplineGrid.h"

#include <vector>

namespace tessera {

/// Coefficients of the B-spline that fits displacements at the voxels of a lattice by least squares: they
/// make the sum over voxels of |spline - displacement|^2 least.
///
/// Voxels whose displacement is NaN are left out. So that control points without voxels beside them have
/// values, a penalty of 1e-9 of the least squares acts on differences of order + 1 between neighbours, which
/// are zero for polynomials (P-splines: Eilers and Marx, "Flexible smoothing with B-splines and penalties",
/// 1996). The search begins at the spline of all voxels, those without a displacement having that of `beyond`
/// (mm to mm), and takes conjugate gradients, preconditioned by the solution for a lattice without gaps,
/// which is separable, until a step changes the spline by 1e-6 mm (root mean square) or less.
///
/// The grid must not be cyclic, must have the direction of the lattice and cover it. The result does not
/// depend on the number of threads. Throws Error(usage) for any other grid.
template <int D>
std::vector<double> fitBSpline(const Context&, const BSplineGrid<D>&, const VectorImage<D>& displacementsMm,
                               const AffineMap<D>& beyond);

}
