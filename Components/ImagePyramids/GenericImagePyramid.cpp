#include "Components/ImagePyramids/GenericImagePyramid.h"

#include "Core/Image/Filters/Shrink.h"

#include <algorithm>

namespace tessera {
namespace {

const Parameter<bool> useShrinkImageFilter =
    booleanParameter("ImagePyramidUseShrinkImageFilter", false, Arity::single,
                     "take every f-th voxel instead of interpolating linearly");

const Parameter<bool> computePerResolution =
    booleanParameter("ComputePyramidImagesPerResolution", false, Arity::single,
                     "accepted without effect: one level at a time is in memory");

bool anyAbove(const auto& values, auto limit)
{
  return std::any_of(values.begin(), values.end(), [&](auto value) { return value > limit; });
}

/// Linear interpolation at (f - 1) / 2 + f i, which is the mean of two voxels or one voxel; 0 if that lies
/// outside the image.
template <int D>
FilterStep<D> resamplingLinearly(const ImageGeometry<D>& original, const Size<D>& factors)
{
  FilterStep<D> step;
  step.geometry = rescaledGeometry<D>(original, factors);
  for (int d = 0; d < D; ++d) {
    const std::size_t f = factors[d];
    step.taps[d] = {f % 2 == 0 ? std::vector{0.5, 0.5} : std::vector{1.0},
                    static_cast<std::ptrdiff_t>((f - 1) / 2), f, step.geometry.size[d]};
    if (f >= 2 * original.size[d]) // one voxel only, at (f - 1) / 2 >= size - 1 / 2
      step.taps[d].weights = {0.0};
  }
  return step;
}

/// elastix keeps the order of neighbouring levels: a sigma is at most that of the level before.
template <int D>
Schedule<D, double> readSigmas(const Parameters& parameters, ImageSide side)
{
  Schedule<D, double> sigmasMm = readSchedule<D>(parameters, sigmaRows(side));
  for (std::size_t level = 1; level < sigmasMm.size(); ++level)
    for (int d = 0; d < D; ++d)
      sigmasMm[level][d] = std::min(sigmasMm[level][d], sigmasMm[level - 1][d]);
  return sigmasMm;
}

}

template <int D>
GenericImagePyramid<D>::GenericImagePyramid(const Parameters& parameters, ImageSide side)
    : factors_(readFactors<D>(parameters, rescaleRows(side), FactorRule::decreasing)),
      sigmasMm_(readSigmas<D>(parameters, side)), takesVoxels_(parameters.get(useShrinkImageFilter))
{
}

template <int D>
Vec<D> GenericImagePyramid<D>::sigmaVoxels(const Vec<D>& spacingMm, std::size_t level) const
{
  const bool rescalesAnyLevel = std::any_of(factors_.begin(), factors_.end(),
                                            [](const auto& f) { return anyAbove(f, std::size_t{1}); });
  Vec<D> sigma{};
  for (int d = 0; d < D; ++d)
    if (!sigmasMm_.empty())
      sigma[d] = sigmasMm_[level][d] / spacingMm[d];
    else if (rescalesAnyLevel && !(factors_[level][d] == 1 && level + 1 == factors_.size()))
      sigma[d] = 0.5 * static_cast<double>(factors_[level][d]);
  return sigma;
}

template <int D>
std::vector<FilterStep<D>> GenericImagePyramid<D>::stepsOfLevel(const ImageGeometry<D>& original,
                                                                std::size_t level) const
{
  const Vec<D> sigma = sigmaVoxels(original.spacingMm, level);
  const Size<D>& factors = factors_[level];
  const bool smooths = anyAbove(sigma, 0.0), rescales = anyAbove(factors, std::size_t{1});
  if (!rescales)
    return smooths ? std::vector{FilterStep<D>::smoothing(original, sigma, AxisOrder::lastFirst)}
                   : std::vector<FilterStep<D>>{};
  FilterStep<D> step =
      takesVoxels_ ? stepTakingVoxels<D>(original, factors) : resamplingLinearly<D>(original, factors);
  step.sigmaVoxels = sigma;
  step.order = AxisOrder::lastFirst;
  return {step};
}

template <int D>
const ComponentDescription& GenericImagePyramid<D>::description(ImageSide side)
{
  return descriptionOf(side, [](ImageSide s) {
    std::vector<ParameterInfo> rows;
    for (const auto& schedule : {rescaleRows(s), sigmaRows(s)})
      rows.insert(rows.end(), schedule.begin(), schedule.end());
    rows.push_back(useShrinkImageFilter);
    rows.push_back(computePerResolution);
    ComponentDescription described = pyramidDescription(
        s, "GenericImagePyramid",
        "Gaussian smoothing by a schedule in mm, then a coarser grid by another schedule.", std::move(rows));
    described.aliases.push_back("OpenCL" + sideName(s) + "GenericImagePyramid");
    return described;
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(GenericImagePyramid);

}
