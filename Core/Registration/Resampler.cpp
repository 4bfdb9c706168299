#include "Core/Registration/Resampler.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/Memory.h"

#include <algorithm>

namespace tessera {

template <int D>
GridSlices<D>::GridSlices(const ImageGeometry<D>& grid, const SliceRange& slices) : geometry(grid)
{
  const std::size_t all = grid.size[D - 1], first = std::min(slices.first, all);
  geometry.size[D - 1] = std::min(slices.count, all - first);
  Vec<D> index{};
  index[D - 1] = static_cast<double>(first);
  geometry.originMm = grid.pointFromIndex()(index);
  begin = all > 0 ? grid.voxelCount() / all * first : 0;
  end = begin + geometry.voxelCount();
}

template <int D>
std::vector<std::unique_ptr<std::byte[]>>
Resampler<D>::resamplePixels(Context& context, const TransformChain<D>& chain,
                             std::span<const ResampleSource<D>> sources, const ImageGeometry<D>& output,
                             std::span<const PixelType> types, const SliceRange& slices,
                             std::vector<std::size_t>* clamped) const
{
  const ImageGeometry<D> grid = GridSlices<D>(output, slices).geometry;
  std::size_t bytesAVoxel = 0;
  for (const PixelType type : types)
    bytesAVoxel += pixelTypeSize(type);
  requireMemory(extentCount(grid.size) * static_cast<double>(bytesAVoxel),
                (types.size() > 1 ? std::to_string(types.size()) + " result images of " : "result image of ")
                    + extentText(grid.size) + " voxels",
                "a smaller or coarser output grid");
  std::vector<std::unique_ptr<std::byte[]>> results;
  std::vector<PixelsOut> pixels;
  std::vector<std::atomic<std::size_t>> counts(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back(largeArray<std::byte>(grid.voxelCount() * pixelTypeSize(types[i])));
    pixels.emplace_back(results.back().get(), types[i]).clamped = &counts[i];
  }
  resampleInto(context, chain, sources, output, slices, pixels);
  if (clamped)
    clamped->assign(counts.begin(), counts.end());
  return results;
}

TESSERA_INSTANTIATE_CLASS_TO_4(GridSlices);
TESSERA_INSTANTIATE_CLASS_TO_4(Resampler);

}
