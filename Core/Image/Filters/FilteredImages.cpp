#include "Core/Image/Filters/FilteredImages.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>

namespace tessera {

template <int D>
ImagePointer<D> FilteredImages<D>::of(Context& context, const ImagePointer<D>& original,
                                      const std::vector<FilterStep<D>>& steps, HeldOnCuda* held,
                                      HeldOnCuda* originals)
{
  auto made = std::ranges::find_if(made_, [&](const Made& one) {
    return one.stream == context.stream.get() && one.original == original && one.steps == steps;
  });
  if (made == made_.end()) {
    Made one{context.stream.get(), original, steps, nullptr, {}};
    one.image = filteredImage<D>(context, original, steps, &one.onCuda, originals);
    const double bytes = static_cast<double>(one.image->geometry.voxelCount() * sizeof(float));
    if (context.onCuda() && !isSmallOnDevice(context, bytes))
      one.onCuda.clear();
    else if (context.onCuda() && steps.empty())
      one.onCuda = {voxelsOnCuda<D>(context, original)};
    made_.push_back(std::move(one));
    made = made_.end() - 1;
  }
  if (held)
    held->insert(held->end(), made->onCuda.begin(), made->onCuda.end());
  return made->image;
}

template <int D>
void FilteredImages<D>::keepOnly(const std::vector<ImagePointer<D>>& originals)
{
  std::erase_if(made_, [&](const Made& made) {
    return std::ranges::find(originals, made.original) == originals.end();
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(FilteredImages);

}
