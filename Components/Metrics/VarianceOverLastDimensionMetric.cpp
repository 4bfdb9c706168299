#include "Components/Metrics/VarianceOverLastDimensionMetric.h"

#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

const Parameter<bool> sampleLastDimensionRandomly = booleanParameter(
    "SampleLastDimensionRandomly", false, Arity::perLevel,
    "see each place at times that are drawn anew for each evaluation; \"false\": at all times");
const Parameter<std::int64_t> numSamplesLastDimension =
    integerParameter("NumSamplesLastDimension", 10, 1, Arity::perLevel, "times",
                     "different times that are drawn for each place; at most those of the series");
const Parameter<std::int64_t> numAdditionalSamplesFixed =
    integerParameter("NumAdditionalSamplesFixed", 0, 0, Arity::perLevel, "times",
                     "how often the time ReducedDimensionIndex counts beside those that are drawn")
        .atMost(1e6);
const Parameter<std::int64_t> reducedDimensionIndex =
    integerParameter("ReducedDimensionIndex", 0, 0, Arity::perLevel, "",
                     "number of a time, from 0 on, that is used beside those that are drawn")
        .atMost(4294967295.0);

/// Mean over places of the variance over time of an image, 1 if that is 0.
template <int D>
double meanVariance(const Image<D>& image)
{
  const std::size_t times = image.geometry.size[D - 1], places = image.geometry.voxelCount() / times;
  double sum = 0;
  for (std::size_t p = 0; p < places && !image.voxels.empty(); ++p) {
    double mean = 0, squares = 0;
    for (std::size_t t = 0; t < times; ++t)
      mean += image.voxels[t * places + p];
    mean /= static_cast<double>(times);
    for (std::size_t t = 0; t < times; ++t)
      squares += (image.voxels[t * places + p] - mean) * (image.voxels[t * places + p] - mean);
    sum += squares / static_cast<double>(times);
  }
  return sum > 0 ? sum / static_cast<double>(places) : 1;
}

struct VarianceSums {
  double value = 0;
  std::size_t valid = 0, asked = 0;
};

/// Adds the variance of each place, and sets the slopes of its values.
template <int D>
void addVariances(PlacesOverTime<D>& places, VarianceSums& sums)
{
  for (std::size_t i = 0; i < places.places; ++i)
    sums.valid += addVariance(places.values.data() + i, places.slopes.data() + i, places.times, places.places,
                              sums.value);
}

}

template <int D>
VarianceOverLastDimensionMetric<D>::VarianceOverLastDimensionMetric(const Parameters& parameters)
    : SeriesTerm<D>(parameters, description().name)
{
  draw_.seed = static_cast<std::uint64_t>(parameters.get(stageparameters::randomSeed()));
}

template <int D>
const ComponentDescription& VarianceOverLastDimensionMetric<D>::description()
{
  static const ComponentDescription description{
      "Metric", "VarianceOverLastDimensionMetric",
      "mean variance over time of a series, whose last axis is time (Metz et al. 2011)",
      joinedRows({{sampleLastDimensionRandomly, numSamplesLastDimension, numAdditionalSamplesFixed,
                   reducedDimensionIndex},
                  SeriesTerm<D>::seriesParameters()})};
  return description;
}

template <int D>
void VarianceOverLastDimensionMetric<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  SeriesTerm<D>::prepareForLevel(context, level);
  const Parameters& parameters = this->parameters();
  const std::size_t times = this->timesOfSeries();
  varianceOfImage_ = meanVariance(*level.moving);
  draw_.level = static_cast<std::uint32_t>(level.level);
  draw_.iteration = 0;
  drawn_ = repetitions_ = 0;
  if (!parameters.get(sampleLastDimensionRandomly, level.level))
    return;
  const std::int64_t repeated = parameters.get(reducedDimensionIndex, level.level);
  repetitions_ = static_cast<std::size_t>(parameters.get(numAdditionalSamplesFixed, level.level));
  repeated_ = static_cast<std::uint32_t>(repeated);
  if (repetitions_ > 0 && repeated_ >= times)
    parameters.fail(reducedDimensionIndex.name, "the series has " + std::to_string(times) + " times",
                    "Allowed: 0 to " + std::to_string(times - 1));
  const auto wanted = static_cast<std::size_t>(parameters.get(numSamplesLastDimension, level.level));
  drawn_ = std::min(wanted, repetitions_ > 0 ? times - 1 : times);
  if (drawn_ < wanted)
    parameters.warn(parameters.where(numSamplesLastDimension.name) + ": " + std::to_string(drawn_)
                    + " times are drawn, because the series has " + std::to_string(times) + ".");
}

/// The first `drawn_` of a random order of the times (Fisher and Yates), and the repeated one.
template <int D>
void VarianceOverLastDimensionMetric<D>::chooseTimes(std::size_t firstPlace, std::size_t places,
                                                     std::span<std::uint32_t> timeOf) const
{
  if (drawn_ == 0)
    return SeriesTerm<D>::chooseTimes(firstPlace, places, timeOf);
  constexpr std::uint32_t ofTimes = 1u << 31; // words that no sampler uses
  thread_local std::vector<std::uint32_t> order;
  std::ranges::fill(timeOf, repeated_);
  for (std::size_t i = 0; i < places; ++i) {
    order.resize(this->timesOfSeries());
    std::iota(order.begin(), order.end(), 0u);
    if (repetitions_ > 0)
      order.erase(order.begin() + repeated_);
    for (std::size_t k = 0; k < drawn_; ++k) {
      const auto word = randomWords(draw_, static_cast<std::uint32_t>(firstPlace + i),
                                    ofTimes | static_cast<std::uint32_t>(k))[0];
      const auto left = static_cast<double>(order.size() - k);
      std::swap(order[k], order[k + static_cast<std::size_t>(unitUniform(word) * left)]);
      timeOf[k * places + i] = order[k];
    }
  }
}

template <int D>
TermValue VarianceOverLastDimensionMetric<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                           std::span<const double> parameters,
                                                           std::span<double> gradient)
{
  TermValue all;
  if (context.onCuda()) {
    sums_.fromHost(context, std::array<double, 2>{});
    grown(context, scratch_, 2 * maxVarianceBlocks);
    all.asked =
        this->visitPlacesOnCuda(context, samples, parameters, gradient, [&](const PlacesOnCuda& places) {
          addVariancesOnCuda(context, places, scratch_.span().data(), sums_.span().data());
        });
    const std::vector<double> sums = sums_.toHost(context);
    all.value = sums[0];
    all.valid = static_cast<std::size_t>(sums[1]);
  } else {
    for (const VarianceSums& sums :
         this->template visitPlaces<VarianceSums>(context, samples, parameters, gradient, addVariances<D>)) {
      all.value += sums.value;
      all.valid += sums.valid;
      all.asked += sums.asked;
    }
  }
  ++draw_.iteration;
  const double factor = all.valid == 0 ? 0 : 1 / (static_cast<double>(all.valid) * varianceOfImage_);
  all.value *= factor;
  return this->finish(context, gradient, factor, all);
}

// Series are images of two or three dimensions over time.
template class VarianceOverLastDimensionMetric<3>;
template class VarianceOverLastDimensionMetric<4>;

}
