#include "Components/ImagePyramids/ShrinkingImagePyramid.h"

#include "Core/Image/DiscreteGaussian.h"

#include <algorithm>

namespace tessera {

template <int D>
ImagePointer<D> takeVoxels(Context& context, const Image<D>& image, const Size<D>& factors)
{
  const ShrunkGrid<D> grid = shrunkGrid<D>(image.geometry, factors);
  std::array<AxisTaps, D> taps;
  for (int d = 0; d < D; ++d)
    taps[d] = smoothingTaps(0, grid.firstVoxel[d], factors[d], grid.geometry.size[d]);
  return std::make_shared<Image<D>>(applyTaps<D>(context, image, taps, grid.geometry));
}

template <int D>
ShrinkingImagePyramid<D>::ShrinkingImagePyramid(const Parameters& parameters, ImageSide side)
    : factors_(readFactors<D>(parameters, factorRows(side), FactorRule::decreasing))
{
}

template <int D>
ImagePointer<D> ShrinkingImagePyramid<D>::imageOfLevel(Context& context, const ImagePointer<D>& original, std::size_t level)
{
  return shrinks(level) ? takeVoxels<D>(context, *original, factors_[level]) : original;
}

template <int D>
ImageGeometry<D> ShrinkingImagePyramid<D>::geometryOfLevel(const ImageGeometry<D>& original, std::size_t level) const
{
  return shrinks(level) ? shrunkGrid<D>(original, factors_[level]).geometry : original;
}

template <int D>
bool ShrinkingImagePyramid<D>::shrinks(std::size_t level) const
{
  return std::any_of(factors_[level].begin(), factors_[level].end(), [](std::size_t f) { return f > 1; });
}

template <int D>
const ComponentDescription& ShrinkingImagePyramid<D>::description(ImageSide side)
{
  const auto describe = [](ImageSide s) {
    const auto rows = factorRows(s);
    return pyramidDescription(s, "ShrinkingImagePyramid", "Every f-th voxel of the full image, no smoothing.",
                              {rows.begin(), rows.end()});
  };
  static const ComponentDescription fixed = describe(ImageSide::fixed), moving = describe(ImageSide::moving);
  return side == ImageSide::fixed ? fixed : moving;
}

template ImagePointer<2> takeVoxels<2>(Context&, const Image<2>&, const Size<2>&);
template ImagePointer<3> takeVoxels<3>(Context&, const Image<3>&, const Size<3>&);
template class ShrinkingImagePyramid<2>;
template class ShrinkingImagePyramid<3>;

}
