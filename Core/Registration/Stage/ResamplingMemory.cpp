#include "Core/Registration/Stage/ResamplingMemory.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

namespace tessera {

template <int D>
DeviceMemory memoryOfResampling(const Resampler<D>& resampler, const TransformChain<D>& chain,
                                const ImageToResample<D>& image, const ImageGeometry<D>& output)
{
  MemoryCount count;
  const std::size_t components = image.interpolators.size();
  std::vector<ImagePointer<D>> images;
  std::vector<std::shared_ptr<const Buffer<float>>> held;
  for (std::size_t i = 0; i < components; ++i) {
    images.push_back(std::make_shared<Image<D>>(Image<D>{image.grid, {}}));
    if (image.voxelsComeFirst)
      held.push_back(voxelsOnCuda<D>(count.context(), images.back()));
  }
  MaskPointer<D> valid;
  if (image.hasInvalidVoxels)
    valid = std::make_shared<Mask<D>>(image.grid, std::vector<std::uint8_t>());
  std::vector<ResampleSource<D>> sources;
  for (std::size_t i = 0; i < components; ++i) {
    const MemoryPart part(count.context(), "images");
    image.interpolators[i]->prepareForLevel(count.context(), images[i], 0);
    sources.push_back({image.interpolators[i], valid, {}});
  }
  held.clear();
  resampler.resampleInto(count.context(), chain, sources, output, {},
                         std::vector<PixelsOut>(components, PixelsOut(nullptr, image.type)));
  for (Interpolator<D>* interpolator : image.interpolators)
    interpolator->endLevel();
  DeviceMemory memory = count.peak();
  memory.add("others", roundingOfResampling);
  return memory;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(memoryOfResampling<D>);

}
