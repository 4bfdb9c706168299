#include "Components/ImagePyramids/RecursiveImagePyramid.h"

#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/Shrink.h"

#include <algorithm>

namespace tessera {
namespace {

double varianceOf(std::size_t factor)
{
  return 0.25 * static_cast<double>(factor * factor);
}

template <int D>
FilterStep<D> smoothingAndShrinking(const ImageGeometry<D>& geometry, const Size<D>& factors,
                                    const Vec<D>& variances)
{
  const ShrunkGrid<D> grid = shrunkGrid<D>(geometry, factors);
  FilterStep<D> step;
  step.geometry = grid.geometry;
  for (int d = 0; d < D; ++d)
    step.taps[d] = smoothingTaps(variances[d], grid.firstVoxel[d], factors[d], grid.geometry.size[d]);
  return step;
}

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

template <int D>
std::vector<FilterStep<D>> RecursiveImagePyramid<D>::stepsOfLevel(const ImageGeometry<D>& original,
                                                                  std::size_t level) const
{
  if (!dividesDownward()) {
    Vec<D> variances;
    std::transform(factors_[level].begin(), factors_[level].end(), variances.begin(), varianceOf);
    return {smoothingAndShrinking<D>(original, factors_[level], variances)};
  }
  std::vector<FilterStep<D>> steps;
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
      steps.push_back(
          smoothingAndShrinking<D>(steps.empty() ? original : steps.back().geometry, factors, variances));
    reached = factors_[l];
  }
  return steps;
}

template <int D>
const ComponentDescription& RecursiveImagePyramid<D>::description(ImageSide side)
{
  return descriptionOf(side, [](ImageSide s) {
    return factorPyramidDescription(s, "RecursiveImagePyramid",
                                    "Each level smooths and shrinks the next finer one (discrete Gaussian). "
                                        + std::string(shiftOfEvenSizes));
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(RecursiveImagePyramid);

}
