#pragma once

namespace tessera {

/// The parameter that an interpolator is made for: (Interpolator ...) or (ResampleInterpolator ...).
enum class InterpolatorUse { matching, resampling };

}
