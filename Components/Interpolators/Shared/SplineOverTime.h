#pragma once

#include "Components/Interpolators/Shared/SplineBatch.h"

namespace tessera {

/// Does the work of Interpolator::evaluate for splines of orders 1 to 5 in four dimensions: a spline over
/// time of splines in the volumes around each point. All sums over time are in double.
template <class Coefficient>
void evaluateOverTime(const SplineImage<4, Coefficient>&, int order, const ListSamples<4>&, float* values,
                      float* const* gradients, std::uint8_t* inside);

}
