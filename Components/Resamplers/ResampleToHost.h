#pragma once

#include "Components/Resamplers/ResamplingOnCuda.h"
#include "Core/Registration/Phase.h"

#include <span>
#include <vector>

namespace tessera {

/// Resampler::resampleInto by kernels. Chunks of whole layers are copied back while the next ones are computed, so that the device
/// holds two of them at a time.
template <int D>
void resampleToHost(Context&, const TransformChain<D>&, std::span<const MovingToResample<D>>, const ImageGeometry<D>& output,
                    const LayerRange&, std::span<float* const> values);

/// Bytes of the device that takes beside images and the chain.
template <int D>
double chunkBytes(const ImageGeometry<D>& output);

/// What kernels take if all layers are done at once, by the device's clock; and by how much longer all of it takes.
template <int D>
std::vector<Phase> timeResampleToHost(Context&, const TransformChain<D>&, std::span<const MovingToResample<D>>,
                                      const ImageGeometry<D>& output, std::span<float* const> values);

}
