#pragma once

#include "Components/Resamplers/Shared/ResamplingOnCuda.h"
#include "Core/Registration/Phase.h"

#include <span>
#include <vector>

namespace tessera {

/// Resampler::resampleInto by kernels. Chunks of whole slices are rounded to their pixels and copied back
/// while the next ones are computed: the device holds the pixels of two of them at a time, and the floats of
/// one.
template <int D>
void resampleToHost(Context&, const TransformChain<D>&, std::span<const MovingToResample<D>>,
                    const ImageGeometry<D>& output, const SliceRange&, std::span<const PixelsOut> ofSources);

/// Bytes of the device with which that can do, beside images and the chain, for any type of pixels. It takes
/// more where there is more.
template <int D>
double chunkBytes(const ImageGeometry<D>& output);

/// What kernels take if all slices are done at once, by the device's clock; and by how much longer all of it
/// takes.
template <int D>
std::vector<Phase> timeResampleToHost(Context&, const TransformChain<D>&,
                                      std::span<const MovingToResample<D>>, const ImageGeometry<D>& output,
                                      std::span<const PixelsOut> ofSources);

}
