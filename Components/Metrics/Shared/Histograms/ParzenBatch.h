#pragma once

#include "Components/Metrics/Shared/Histograms/ParzenWindows.h"

#include <cstddef>

namespace tessera {

// ParzenHistogram's sums and slopes over arrays of pairs. The bits of a pair do not depend on the others.

/// Adds each pair to its bins: counts[fixed bin * moving bins + moving bin].
void accumulatePairs(const ParzenWindows&, const float* fixed, const float* moving, std::size_t count,
                     std::int64_t* counts);

/// slopes[i] = d value / d moving[i]; `weights` and `perSample` are those of a ParzenHistogram::Table.
void slopesOfPairs(const ParzenWindows&, const double* weights, double perSample, const float* fixed,
                   const float* moving, std::size_t count, float* slopes);

}
