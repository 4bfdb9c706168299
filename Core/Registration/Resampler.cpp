#include "Core/Registration/Resampler.h"

#include "Core/Compute/Memory.h"

#include <algorithm>

namespace tessera {

template <int D>
GridLayers<D>::GridLayers(const ImageGeometry<D>& grid, const LayerRange& layers) : geometry(grid)
{
  const std::size_t all = grid.size[D - 1], first = std::min(layers.first, all);
  geometry.size[D - 1] = std::min(layers.count, all - first);
  Vec<D> index{};
  index[D - 1] = static_cast<double>(first);
  geometry.originMm = grid.pointFromIndex()(index);
  begin = all > 0 ? grid.voxelCount() / all * first : 0;
  end = begin + geometry.voxelCount();
}

template <int D>
std::vector<Image<D>> Resampler<D>::resample(Context& context, const TransformChain<D>& chain,
                                             std::span<const ResampleSource<D>> sources, const ImageGeometry<D>& output,
                                             const LayerRange& layers) const
{
  const ImageGeometry<D> grid = GridLayers<D>(output, layers).geometry;
  requireMemory(extentCount(grid.size) * static_cast<double>(sources.size() * sizeof(float)),
                (sources.size() > 1 ? std::to_string(sources.size()) + " result images of " : "result image of ")
                    + extentText(grid.size) + " voxels",
                "a smaller or coarser output grid");
  std::vector<Image<D>> results(sources.size());
  std::vector<float*> values;
  for (Image<D>& result : results) {
    result = {grid, std::vector<float>(grid.voxelCount())};
    values.push_back(result.voxels.data());
  }
  resampleInto(context, chain, sources, output, layers, values);
  return results;
}

template <int D>
Image<D> Resampler<D>::resample(Context& context, const TransformChain<D>& chain, const ResampleSource<D>& source,
                                const ImageGeometry<D>& output) const
{
  return std::move(resample(context, chain, std::span(&source, 1), output).front());
}

template struct GridLayers<2>;
template struct GridLayers<3>;
template class Resampler<2>;
template class Resampler<3>;

}
