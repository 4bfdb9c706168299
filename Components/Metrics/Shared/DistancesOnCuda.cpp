#include "Components/Metrics/Shared/DistancesOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t pointsAtOnce = std::size_t(1) << 22; // 48 MiB of covectors in 3D

/// Points that are handled together: `slices` slices of a lattice from `first` on, or as many points of a
/// list.
template <int D>
SamplesOnCuda<D> chunkOf(const SamplesOnCuda<D>& points, std::size_t first, std::size_t slices)
{
  SamplesOnCuda<D> chunk = points;
  if (points.isList()) {
    for (const double*& axis : chunk.pointMm)
      axis += first;
    chunk.count = slices;
    return chunk;
  }
  const std::size_t slice = points.count / static_cast<std::size_t>(points.positions[D - 1]);
  chunk.count = slices * slice;
  chunk.first[D - 1] += points.step[D - 1] * static_cast<int>(first);
  chunk.positions[D - 1] = static_cast<int>(slices);
  if (chunk.asked != nullptr)
    chunk.asked += first * slice;
  return chunk;
}

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
void DistancesOnCuda<D>::reserve(const Context& context, std::size_t points)
{
  const Transform<D>& last = *level_.chain->transform;
  const std::size_t atOnce = std::min(points, pointsAtOnce);
  grown(context, covectors_, D * atOnce);
  pullBack_.reserve(context, kernelFormOf(last)->kind(), last.parameterCount(), atOnce);
}

template <int D>
void DistancesOnCuda<D>::enqueue(Context& context, const SamplesOnCuda<D>& points,
                                 const PartnersOnCuda<D>& allPartners, std::span<const double> parameters,
                                 std::span<double> gradient)
{
  const ChainOnCuda<D> chain = chain_.at(context, parameters);
  DistanceSums<D>* result = result_.span().data();
  context.stream->fill(result, 0, sizeof *result);
  const std::size_t slices =
      points.isList() ? points.count : static_cast<std::size_t>(points.positions[D - 1]);
  const std::size_t slice = slices == 0 ? 0 : points.count / slices;
  const std::size_t atOnce = std::max<std::size_t>(1, pointsAtOnce / std::max<std::size_t>(1, slice));
  std::size_t first = 0;
  do {
    const std::size_t count = std::min(atOnce, slices - first);
    const SamplesOnCuda<D> chunk = chunkOf(points, first, count);
    PartnersOnCuda<D> partners = allPartners;
    if (partners.weights != nullptr)
      partners.weights += first;
    std::array<float*, D> covectors{};
    for (int d = 0; d < D; ++d) {
      if (partners.mm[d] != nullptr)
        partners.mm[d] += first;
      if (!gradient.empty())
        covectors[d] = grown(context, covectors_, D * chunk.count) + d * chunk.count;
    }
    distancesOnCuda<D>(context, chunk, partners, chain, movingMask_, covectors, scratch_.span().data(),
                       result);
    if (!gradient.empty())
      pullBack(context, chunk, chain, covectors, first == 0, first + count == slices, gradient);
    first += count;
  } while (first < slices);
  found_.copyLater(result);
}

template <int D>
void DistancesOnCuda<D>::pullBack(Context& context, const SamplesOnCuda<D>& chunk,
                                  const ChainOnCuda<D>& chain, const std::array<float*, D>& written,
                                  bool isFirst, bool isLast, std::span<double> gradient)
{
  DistanceSums<D>* result = result_.span().data();
  std::array<const float*, D> covectors;
  std::ranges::copy(written, covectors.begin());
  if (level_.chain->transform->linear())
    return momentsOnCuda<D>(context, chunk, chain, covectors, nullptr, scratch_.span().data(),
                            &result->moments);
  pullBack_.add(context, chunk, chain, covectors, nullptr, gradient,
                {isFirst, isLast ? result->weights() : nullptr});
}

template <int D>
TermValue DistancesOnCuda<D>::collect(std::span<const double> parameters, std::span<double> gradient)
{
  const DistanceSums<D>& found = found_[0];
  const Transform<D>& last = *level_.chain->transform;
  const double perPoint = *found.weights() == 0 ? 0 : 1 / *found.weights();
  if (!gradient.empty() && last.linear()) {
    std::ranges::fill(gradient, 0.0);
    last.linear()->pullBackMoments(parameters, found.moments, gradient);
    for (double& value : gradient)
      value *= perPoint;
  }
  return {perPoint * found.distances(), static_cast<std::size_t>(found.valid()),
          static_cast<std::size_t>(found.asked())};
}

template <int D>
CorrespondingPointsOnCuda<D>::CorrespondingPointsOnCuda(const Context& context, const TermLevel<D>& level,
                                                        double errorMm)
    : distances_(context, level)
{
  points_.count = level.points->fixedMm.size();
  for (int d = 0; d < D; ++d) {
    fixedMm_[d].fromHost(context, coordinates<D>(level.points->fixedMm, d));
    movingMm_[d].fromHost(context, coordinates<D>(level.points->movingMm, d));
    points_.pointMm[d] = fixedMm_[d].span().data();
    partners_.mm[d] = movingMm_[d].span().data();
  }
  if (!level.points->weights.empty()) {
    weights_.fromHost(context, level.points->weights);
    partners_.weights = weights_.span().data();
  }
  partners_.errorMm = errorMm;
  distances_.reserve(context, points_.count);
}

TESSERA_INSTANTIATE_CLASS(DistancesOnCuda);
TESSERA_INSTANTIATE_CLASS(CorrespondingPointsOnCuda);

}
