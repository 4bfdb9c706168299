#pragma once

#include "Core/Registration/MetricOnCuda.h"

#include <memory>

namespace tessera {

/// A formula whose sums are a few doubles, in kernels: AdvancedMeanSquares or AdvancedNormalizedCorrelation.
template <class Formula>
std::unique_ptr<MetricOnCuda> sumsOnCuda(const Context&, const Formula&);

}
