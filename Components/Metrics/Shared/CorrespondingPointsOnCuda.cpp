#include "Components/Metrics/Shared/CorrespondingPointsOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

/// Coordinate `axis` of all points.
template <int D>
std::vector<double> coordinates(const std::vector<Vec<D>>& pointsMm, int axis)
{
  std::vector<double> values;
  values.reserve(pointsMm.size());
  for (const Vec<D>& pointMm : pointsMm)
    values.push_back(pointMm[axis]);
  return values;
}

}

template <int D>
CorrespondingPointsOnCuda<D>::CorrespondingPointsOnCuda(const Context& context, const TermLevel<D>& level)
    : level_(level), chain_(context, *level.chain), result_(context, 1), found_(context, 1),
      scratch_(context, std::max(distanceScratch, momentScratch<D>())),
      covectors_(context, D * level.points->fixedMm.size())
{
  points_.count = level.points->fixedMm.size();
  for (int d = 0; d < D; ++d) {
    fixedMm_[d].fromHost(context, coordinates<D>(level.points->fixedMm, d));
    movingMm_[d].fromHost(context, coordinates<D>(level.points->movingMm, d));
    points_.pointMm[d] = fixedMm_[d].span().data();
    partnersMm_[d] = movingMm_[d].span().data();
  }
  if (level.movingMask) {
    movingMaskVoxels_ = voxelsOnCuda<D>(context, level.movingMask);
    movingMask_ = MaskOnCuda<D>(*level.movingMask, *movingMaskVoxels_);
  }
  const Transform<D>& last = *level.chain->transform;
  pullBack_.reserve(context, kernelFormOf(last)->kind(), last.parameterCount(), points_.count);
}

template <int D>
std::array<float*, D> CorrespondingPointsOnCuda<D>::covectorArrays()
{
  std::array<float*, D> arrays;
  for (int d = 0; d < D; ++d)
    arrays[d] = covectors_.span().data() + d * points_.count;
  return arrays;
}

template <int D>
void CorrespondingPointsOnCuda<D>::enqueue(Context& context, const SampleSet<D>&,
                                           std::span<const double> parameters, std::span<double> gradient)
{
  const ChainOnCuda<D> chain = chain_.at(context, parameters);
  DistanceSums<D>* result = result_.span().data();
  context.stream->fill(result, 0, sizeof *result);
  pointDistancesOnCuda<D>(context, points_, partnersMm_, chain, movingMask_,
                          gradient.empty() ? std::array<float*, D>{} : covectorArrays(),
                          scratch_.span().data(), result);
  if (!gradient.empty())
    pullBack(context, chain, gradient);
  found_.copyLater(result);
}

template <int D>
void CorrespondingPointsOnCuda<D>::pullBack(Context& context, const ChainOnCuda<D>& chain,
                                            std::span<double> gradient)
{
  DistanceSums<D>* result = result_.span().data();
  std::array<const float*, D> covectors;
  std::ranges::copy(covectorArrays(), covectors.begin());
  if (level_.chain->transform->linear())
    return momentsOnCuda<D>(context, points_, chain, covectors, nullptr, scratch_.span().data(),
                            &result->moments);
  pullBack_.add(context, points_, chain, covectors, nullptr, gradient, {true, result->valid()});
}

template <int D>
TermValue CorrespondingPointsOnCuda<D>::collect(std::span<const double> parameters,
                                                std::span<double> gradient)
{
  const DistanceSums<D>& found = found_[0];
  const Transform<D>& last = *level_.chain->transform;
  const double perPair = *found.valid() == 0 ? 0 : 1 / *found.valid();
  if (!gradient.empty() && last.linear()) {
    std::ranges::fill(gradient, 0.0);
    last.linear()->pullBackMoments(parameters, found.moments, gradient);
    for (double& value : gradient)
      value *= perPair;
  }
  return {perPair * found.distances(), static_cast<std::size_t>(*found.valid()), points_.count};
}

template class CorrespondingPointsOnCuda<2>;
template class CorrespondingPointsOnCuda<3>;

}
