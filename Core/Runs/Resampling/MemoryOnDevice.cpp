#include "Core/Runs/Resampling/MemoryOnDevice.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Stage/ResamplingMemory.h"

namespace tessera {

template <int D>
SizeOnDevice<D> sizeOnDevice(const ImageHeader& header, bool isLabels, PixelType ofResult)
{
  const bool hasComponents = header.meaning == PixelMeaning::vector && !isLabels;
  SizeOnDevice<D> size{.grid = geometryOf<D>(header),
                       .components = static_cast<std::size_t>(hasComponents ? header.components : 1),
                       .isLabels = isLabels};
  size.hasInvalidVoxels =
      header.componentType == PixelType::float32 || header.componentType == PixelType::float64;
  size.type = isLabels ? header.componentType : ofResult;
  return size;
}

template <int D>
DeviceMemory memoryOnDevice(const Resampler<D>& resampler, const TransformChain<D>& chain,
                            const ImageGeometry<D>& lattice, const MakeInterpolator<D>& makeInterpolator,
                            const SizeOnDevice<D>& size)
{
  std::vector<std::unique_ptr<Interpolator<D>>> made;
  std::vector<Interpolator<D>*> interpolators;
  for (std::size_t c = 0; c < size.components; ++c)
    interpolators.push_back(made.emplace_back(makeInterpolator(size.isLabels)).get());
  return memoryOfResampling<D>(
      resampler, chain, {interpolators, size.grid, size.hasInvalidVoxels, size.voxelsComeFirst, size.type},
      lattice);
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template SizeOnDevice<D> sizeOnDevice<D>(const ImageHeader&, bool, PixelType);                             \
  template DeviceMemory memoryOnDevice<D>(const Resampler<D>&, const TransformChain<D>&,                     \
                                          const ImageGeometry<D>&, const MakeInterpolator<D>&,               \
                                          const SizeOnDevice<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
TESSERA_INSTANTIATE(4)
#undef TESSERA_INSTANTIATE

}
