#include "Components/ImagePyramids/ShrinkingImagePyramid.h"

#include "Core/Image/Filters/DiscreteGaussian.h"

#include <algorithm>

namespace tessera {

template <int D>
FilterStep<D> takingVoxels(const ImageGeometry<D>& original, const Size<D>& factors)
{
  const ShrunkGrid<D> grid = shrunkGrid<D>(original, factors);
  FilterStep<D> step;
  step.geometry = grid.geometry;
  for (int d = 0; d < D; ++d)
    step.taps[d] = smoothingTaps(0, grid.firstVoxel[d], factors[d], grid.geometry.size[d]);
  return step;
}

template <int D>
ShrinkingImagePyramid<D>::ShrinkingImagePyramid(const Parameters& parameters, ImageSide side)
    : factors_(readFactors<D>(parameters, factorRows(side), FactorRule::decreasing))
{
}

template <int D>
std::vector<FilterStep<D>> ShrinkingImagePyramid<D>::stepsOfLevel(const ImageGeometry<D>& original,
                                                                  std::size_t level) const
{
  const Size<D>& factors = factors_[level];
  if (std::all_of(factors.begin(), factors.end(), [](std::size_t f) { return f == 1; }))
    return {};
  return {takingVoxels<D>(original, factors)};
}

template <int D>
const ComponentDescription& ShrinkingImagePyramid<D>::description(ImageSide side)
{
  return descriptionOf(side, [](ImageSide s) {
    return factorPyramidDescription(s, "ShrinkingImagePyramid",
                                    "Every f-th voxel of the full image, no smoothing.");
  });
}

template FilterStep<2> takingVoxels<2>(const ImageGeometry<2>&, const Size<2>&);
template FilterStep<3> takingVoxels<3>(const ImageGeometry<3>&, const Size<3>&);
template class ShrinkingImagePyramid<2>;
template class ShrinkingImagePyramid<3>;

}
