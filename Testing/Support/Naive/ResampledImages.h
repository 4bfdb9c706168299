#pragma once

#include "Core/Registration/Resampler.h"

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// The results of Resampler::resampleInto() as images.
template <int D>
std::vector<Image<D>> resampledImages(const Resampler<D>& resampler, Context& context,
                                      const TransformChain<D>& chain,
                                      std::type_identity_t<std::span<const ResampleSource<D>>> sources,
                                      const ImageGeometry<D>& output, const SliceRange& slices = {})
{
  const ImageGeometry<D> grid = GridSlices<D>(output, slices).geometry;
  std::vector<Image<D>> results(sources.size(), {grid, std::vector<float>(grid.voxelCount())});
  std::vector<PixelsOut> values;
  for (Image<D>& result : results)
    values.emplace_back(reinterpret_cast<std::byte*>(result.voxels.data()), PixelType::float32);
  resampler.resampleInto(context, chain, sources, output, slices, values);
  return results;
}

template <int D>
Image<D> resampledImage(const Resampler<D>& resampler, Context& context, const TransformChain<D>& chain,
                        const ResampleSource<D>& source, const ImageGeometry<D>& output)
{
  return std::move(resampledImages<D>(resampler, context, chain, std::span(&source, 1), output).front());
}

}
