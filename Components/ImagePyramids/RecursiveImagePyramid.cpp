#include "Components/ImagePyramids/RecursiveImagePyramid.h"

#include "Core/Image/DiscreteGaussian.h"
#include "Core/Image/Shrink.h"

#include <algorithm>

namespace tessera {
namespace {

double varianceOf(std::size_t factor)
{
  return 0.25 * static_cast<double>(factor * factor);
}

template <int D>
ImagePointer<D> smoothAndShrink(Context& context, const Image<D>& image, const Size<D>& factors, const Vec<D>& variances)
{
  const ShrunkGrid<D> grid = shrunkGrid<D>(image.geometry, factors);
  std::array<AxisTaps, D> taps;
  for (int d = 0; d < D; ++d)
    taps[d] = smoothingTaps(variances[d], grid.firstVoxel[d], factors[d], grid.geometry.size[d]);
  return std::make_shared<Image<D>>(applyTaps<D>(context, image, taps, grid.geometry));
}

}

template <int D>
RecursiveImagePyramid<D>::RecursiveImagePyramid(const Parameters& parameters, ImageSide side)
    : factors_(readFactors<D>(parameters, factorRows(side), FactorRule::decreasing))
{
}

template <int D>
bool RecursiveImagePyramid<D>::dividesDownward() const
{
  for (std::size_t level = 0; level + 1 < factors_.size(); ++level)
    for (int d = 0; d < D; ++d)
      if (factors_[level][d] % factors_[level + 1][d] != 0)
        return false;
  return true;
}

/// Calls shrink(factors, variances) for each step from the full image to the level's.
template <int D>
template <class Shrink>
void RecursiveImagePyramid<D>::forEachStep(std::size_t level, Shrink&& shrink) const
{
  if (!dividesDownward()) {
    Vec<D> variances;
    std::transform(factors_[level].begin(), factors_[level].end(), variances.begin(), varianceOf);
    return shrink(factors_[level], variances);
  }
  Size<D> reached;
  reached.fill(1);
  for (std::size_t l = factors_.size(); l-- > level;) {
    Size<D> factors;
    Vec<D> variances{};
    for (int d = 0; d < D; ++d) {
      factors[d] = factors_[l][d] / reached[d];
      variances[d] = factors[d] == 1 ? 0 : varianceOf(factors[d]);
    }
    if (factors_[l] != reached)
      shrink(factors, variances);
    reached = factors_[l];
  }
}

template <int D>
ImagePointer<D> RecursiveImagePyramid<D>::imageOfLevel(Context& context, const ImagePointer<D>& original, std::size_t level)
{
  ImagePointer<D> image = original;
  forEachStep(level, [&](const Size<D>& factors, const Vec<D>& variances) {
    image = smoothAndShrink<D>(context, *image, factors, variances);
  });
  return image;
}

template <int D>
ImageGeometry<D> RecursiveImagePyramid<D>::geometryOfLevel(const ImageGeometry<D>& original, std::size_t level) const
{
  ImageGeometry<D> geometry = original;
  forEachStep(level, [&](const Size<D>& factors, const Vec<D>&) { geometry = shrunkGrid<D>(geometry, factors).geometry; });
  return geometry;
}

template <int D>
const ComponentDescription& RecursiveImagePyramid<D>::description(ImageSide side)
{
  const auto describe = [](ImageSide s) {
    const auto rows = factorRows(s);
    return pyramidDescription(s, "RecursiveImagePyramid", "Each level smooths and shrinks the next finer one (discrete Gaussian).",
                              {rows.begin(), rows.end()});
  };
  static const ComponentDescription fixed = describe(ImageSide::fixed), moving = describe(ImageSide::moving);
  return side == ImageSide::fixed ? fixed : moving;
}

template class RecursiveImagePyramid<2>;
template class RecursiveImagePyramid<3>;

}
