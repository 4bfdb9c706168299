#include "Components/ImagePyramids/ShrinkingImagePyramid.h"

#include <algorithm>

namespace tessera {

template <int D>
std::vector<FilterStep<D>> ShrinkingImagePyramid<D>::stepsOfLevel(const ImageGeometry<D>& original,
                                                                  std::size_t level) const
{
  const Size<D>& factors = factors_[level];
  if (std::all_of(factors.begin(), factors.end(), [](std::size_t f) { return f == 1; }))
    return {};
  return {stepTakingVoxels<D>(original, factors)};
}

template <int D>
const ComponentDescription& ShrinkingImagePyramid<D>::description(ImageSide side)
{
  return descriptionOf(side, [](ImageSide s) {
    return factorPyramidDescription(s, "ShrinkingImagePyramid",
                                    "Every f-th voxel of the full image, no smoothing. "
                                        + std::string(shiftOfEvenSizes));
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(ShrinkingImagePyramid);

}
