#pragma once

#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/OptimizableTransform.h"

#include <span>

namespace tessera {

/// JacobianTerms of a B-spline displacement field over all samples: exact, in double precision, with the same
/// bits for any number of threads (Klein et al. 2009, section 2.3).
///
/// The Jacobian of a sample is w^T (x) I, with w the weights of its support and (x) the Kronecker product. So
/// C = M (x) I with M = 1/n sum w w^T. M has (2 order + 1)^D bands; of those along the last axis only one
/// half is stored. With scales s, J_kd is divided by sqrt(s_kd). Samples outside the grid count in n and add
/// nothing. Memory: about 8 (order + 1) (2 order + 1)^(D - 1) bytes a control point.
template <int D>
JacobianTerms bsplineJacobianTerms(const Context&, const BSplineGrid<D>&, const ListSamples<D>&,
                                   std::span<const double> scales);

}
