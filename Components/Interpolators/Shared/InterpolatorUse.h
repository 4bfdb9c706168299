#pragma once

namespace tessera {

/// For which key of a parameter file an interpolator is made: (Interpolator ...) or (ResampleInterpolator
/// ...).
enum class InterpolatorUse { matching, resampling };

}
