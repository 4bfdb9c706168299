#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera {

/// Interpolator::evaluate for any number of points, with all arrays on the context's CUDA device. `Source` is
/// InterpolatorOnCuda<D>, or SlicedSeriesOnCuda<D>. If `gradientsPerMm[0]` or `inside` is null, it is not
/// computed. It only enqueues work on the context's stream.
template <int D, class Source>
TESSERA_CUDA_ONLY void interpolateOnCuda(Context&, const Source&, const std::array<const double*, D>& pointMm,
                                         std::size_t count, float* values,
                                         const std::array<float*, D>& gradientsPerMm, std::uint8_t* inside);

}
