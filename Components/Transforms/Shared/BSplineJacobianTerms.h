#pragma once

#include "Components/Transforms/Shared/BSplineGrid.h"
#include "Core/Registration/OptimizableTransform.h"

#include <span>

namespace tessera {

/// JacobianTerms of a B-spline displacement field over all samples: exact, in double, the same bits for any
/// thread count.
///
/// J of a sample is w^T (x) I, w the weights of its support, so C = M (x) I with M = 1/n sum w w^T; M has (2
/// order + 1)^D bands, of which those along the last axis are stored on one side. With scales s, J_kd is
/// divided by sqrt(s_kd). Samples outside the grid count in n and add nothing. Memory: about 8 (order + 1) (2
/// order + 1)^(D - 1) bytes a control point.
template <int D>
JacobianTerms bsplineJacobianTerms(const Context&, const BSplineGrid<D>&, const ListSamples<D>&,
                                   std::span<const double> scales);

}
