#include "Components/Metrics/Shared/Series/SeriesTermOnCuda.h"

#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Interpolation/InterpolatePointsOnCuda.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t entriesAtOnce = std::size_t(1) << 20;

std::size_t placesAtOnce(std::size_t all, std::size_t times)
{
  return std::min(all, std::max<std::size_t>(1, entriesAtOnce / times));
}

}

template <int D>
SeriesTermOnCuda<D>::SeriesTermOnCuda(Context& context, const TermLevel<D>& level,
                                      const std::optional<Matrix<D>>& gradientMatrix)
    : level_(level), chain_(passesOnCuda<D>(context, *level.chain)), samples_(context, level.fixed),
      asked_(context, 1), moments_(context, 1)
{
  moving_.turnsGradient = gradientMatrix.has_value();
  moving_.gradientMatrix = gradientMatrix.value_or(identityMatrix<D>());
  if (level.movingMask) {
    movingMask_ = voxelsOnCuda<D>(context, level.movingMask);
    moving_.mask = MaskOnCuda<D>(*level.movingMask, *movingMask_);
  }
  const std::size_t times = level.fixed->geometry.size[D - 1];
  for (const ExpectedSamples<D>& samples : level.expected) {
    if (samples.lattice)
      samples_.reserve(context, *samples.lattice);
    reserve(context, placesAtOnce(samples.positions, times) * times, samples.withGradient);
  }
}

template <int D>
void SeriesTermOnCuda<D>::reserve(const Context& context, std::size_t entries, bool withGradient)
{
  grown(context, points_, D * entries);
  grown(context, mapped_, D * entries);
  grown(context, values_, entries);
  grown(context, inside_, entries);
  if (timeOf_.size() < entries)
    timeOfOnHost_.clear();
  grown(context, timeOf_, entries);
  chain_->reserve(context, entries, withGradient);
  if (!withGradient)
    return;
  grown(context, gradients_, D * entries);
  grown(context, slopes_, entries);
}

template <int D>
void SeriesTermOnCuda<D>::gather(Context& context, const SamplesOnCuda<D>& list,
                                 const std::array<float*, D>& gradientPerMm)
{
  double* const mapped = mapped_.span().data();
  float* const values = values_.span().data();
  std::uint8_t* const inside = inside_.span().data();
  const auto mappedMm = planesOf<D>(std::as_const(mapped_).span().data(), list.count);
  chain_->map(context, list, mapped);
  if (const auto* const series = level_.interpolator->slicedSeriesOnCuda())
    interpolateOnCuda<D>(context, *series, mappedMm, list.count, values, gradientPerMm, inside);
  else if constexpr (D < 4)
    interpolateOnCuda<D>(context, *level_.interpolator->onCuda(), mappedMm, list.count, values, gradientPerMm,
                         inside);
  keepValidOnCuda<D>(context, list.count, mappedMm, inside, moving_, values, gradientPerMm);
}

template <int D>
std::size_t SeriesTermOnCuda<D>::visitPlaces(Context& context, const SampleSet<D>& set, std::size_t times,
                                             std::span<const double> parameters, std::span<double> gradient,
                                             const ChooseTimes& chooseTimes,
                                             const std::function<void(const PlacesOnCuda&)>& visit)
{
  const bool withGradient = !gradient.empty();
  const SamplesOnCuda<D> samples = samples_.of(context, set);
  const Transform<D>& last = *level_.chain->transform;
  const std::size_t most = placesAtOnce(samples.count, times);
  const ImageGeometry<D>& series = level_.fixed->geometry;
  reserve(context, most * times, withGradient);
  context.stream->fill(asked_.span().data(), 0, sizeof(unsigned long long));
  context.stream->fill(moments_.span().data(), 0, sizeof(CovectorMoments<D>));
  fill(vectorContext<D>(context, last), 0, gradient);
  chain_->moveTo(context, parameters);
  std::vector<std::uint32_t> timeOf;
  for (std::size_t first = 0; first < samples.count; first += most) {
    PlacesOnCuda places{std::min(most, samples.count - first), times, values_.span().data()};
    const std::size_t entries = places.entries();
    timeOf.resize(entries);
    chooseTimes(first, places.places, timeOf);
    if (timeOf != timeOfOnHost_) {
      context.stream->copyToDevice(timeOf_.span().data(), timeOf.data(), entries * sizeof(std::uint32_t));
      timeOfOnHost_ = timeOf;
    }
    spreadOverTimeOnCuda<D>(context, samples, first, places, timeOf_.span().data(), series.originMm[D - 1],
                            series.spacingMm[D - 1], points_.span().data(),
                            samples.asked ? asked_.span().data() : nullptr);
    SamplesOnCuda<D> list;
    list.count = entries;
    list.pointMm = planesOf<D>(std::as_const(points_).span().data(), entries);
    std::array<float*, D> gradientPerMm{};
    if (withGradient) {
      gradientPerMm = planesOf<D>(gradients_.span().data(), entries);
      places.slopes = slopes_.span().data();
      context.stream->fill(places.slopes, 0, entries * sizeof(float));
    }
    gather(context, list, gradientPerMm);
    visit(places);
    if (!withGradient)
      continue;
    const auto covectors = planesOf<D>(std::as_const(gradients_).span().data(), entries);
    if (last.linear())
      chain_->addMoments(context, list, covectors, places.slopes, moments_.span().data());
    else
      chain_->pullBack(context, list, covectors, places.slopes, gradient, {});
  }
  if (withGradient && last.linear())
    last.linear()->pullBackMoments(parameters, moments_.toHost(context)[0], gradient);
  return samples.asked ? asked_.toHost(context)[0] : samples.count;
}

template class SeriesTermOnCuda<3>;
template class SeriesTermOnCuda<4>;

}
