#pragma once

#include "Components/Resamplers/Shared/ResamplingOnCuda.h"

#include <span>

namespace tessera {

/// Resampler::resampleInto by kernels. Works in chunks of whole slices: a chunk is rounded to pixels and
/// copied to the host while the next one is computed, unless the result stays on the device. The device holds
/// the pixels of two chunks and the floats of one. Chunks are long if there is memory for it. On the context
/// of a MemoryCount it takes the memory for short chunks and computes nothing.
template <int D>
void resampleInChunks(Context&, const TransformChain<D>&, std::span<const MovingToResample<D>>,
                      const ImageGeometry<D>& output, const SliceRange&, std::span<const PixelsOut> results);

}
