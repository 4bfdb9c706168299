#pragma once

#include "Components/Metrics/Shared/Series/SeriesTermOnCuda.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Samples/StripePlan.h"
#include "Core/Registration/TermOfSeries.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// Some places of a series, each at several times. Number k of place i is entry k * places + i.
template <int D>
struct PlacesOverTime {
  static constexpr std::size_t most = 128; // places; with some tens of times they stay in the cache

  ListSamples<D> points; // the places; their last coordinate does not matter
  std::size_t places = 0, times = 0;
  std::vector<std::uint32_t> timeOf;
  std::vector<float> values; // of the moving image at T(x, t); NaN outside of it or its mask
  std::array<std::vector<float>, D> gradientPerMm; // at T(x, t)
  std::vector<double> slopes;                      // derivative by the value, set to 0 before the metric does

  std::size_t at(std::size_t time, std::size_t place) const { return time * places + place; }
};

/// The base of metrics of a series. They compare no pair of images: a sampler gives places, whose last
/// coordinate is dropped, and the moving image is seen there at all times, or at some.
template <int D>
class SeriesTerm : public CostTerm<D>, public TermOfSeries<D> {
public:
  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda() const override { return ""; }
  bool needsPassesAlone() const override { return true; }
  /// Throws Error(usage) if the mean over time of the gradient is to be 0 and no parameter belongs to a time.
  void checkTransform(const Transform<D>&) const override;
  double workOfSample(double) const override { return static_cast<double>(times_); }
  void checkImages(const ImageGeometry<D>& fixed, const ImageGeometry<D>& moving) override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    onCuda_.reset();
    level_ = {};
  }

protected:
  SeriesTerm(const Parameters&, std::string name);
  static std::vector<ParameterInfo> seriesParameters();

  const TermLevel<D>& level() const { return level_; }
  std::size_t timesOfSeries() const { return level_.fixed->geometry.size[D - 1]; }
  const Parameters& parameters() const { return parameters_; }

  /// The number of times that each place is seen at: all, if the metric does not say otherwise.
  virtual std::size_t timesOfPlace() const { return timesOfSeries(); }
  /// Chooses them for so many places, of which the first has this number. Number k of place i is entry k *
  /// places + i.
  virtual void chooseTimes(std::size_t firstPlace, std::size_t places, std::span<std::uint32_t> timeOf) const;

  /// Calls visit(places, sums) with batches of all samples, and returns the sums of stripes, which do not
  /// depend on threads. `Sums` begins as {} and has `asked`, which is counted here. Unless `gradient` is
  /// empty, visit sets slopes, whose gradient is added up for finish().
  template <class Sums, class Visit>
  std::vector<Sums> visitPlaces(Context&, const SampleSet<D>&, std::span<const double> parameters,
                                std::span<double> gradient, Visit&&);
  /// Does on a CUDA device what visitPlaces() does on the CPU: visit(places) enqueues kernels. Returns how
  /// many samples were asked.
  template <class Visit>
  std::size_t visitPlacesOnCuda(Context& context, const SampleSet<D>& samples,
                                std::span<const double> parameters, std::span<double> gradient, Visit&& visit)
  {
    return onCuda_->visitPlaces(
        context, samples, timesOfPlace(), parameters, gradient,
        [this](std::size_t first, std::size_t places, std::span<std::uint32_t> timeOf) {
          chooseTimes(first, places, timeOf);
        },
        visit);
  }
  /// Throws Error(registrationFailed) if too few of the samples count.
  void check(const TermValue& value) const { validSampleRule_.checked(level_.level, value); }
  /// Scales the gradient of the last visitPlaces, takes its mean over time off if that is asked for, and
  /// returns `value` after the check of its samples.
  TermValue finish(Context&, std::span<double> gradient, double factor, const TermValue& value);

private:
  using Places = PlacesOverTime<D>;
  void gather(Context& oneThread, const TransformChain<D>&, bool withGradient, Places&) const;
  void pullBack(Context& oneThread, const TransformChain<D>&, const Places&,
                std::span<double> gradient) const;
  /// The points of entries [first, last).
  void pointsOf(const Places&, std::size_t first, std::size_t last, PointBatch<D>&) const;

  Parameters parameters_;
  std::string name_;
  ValidSampleRule validSampleRule_;
  bool meanIsZero_;
  std::size_t times_ = 1; // of the images of the last checkImages
  TermLevel<D> level_;
  std::optional<Matrix<D>> gradientMatrix_;
  ChainAtParameters<D> chain_;
  StripedGradient stripedGradient_;
  std::optional<SeriesTermOnCuda<D>> onCuda_; // in levels on a CUDA device
};

template <int D>
template <class Sums, class Visit>
std::vector<Sums> SeriesTerm<D>::visitPlaces(Context& context, const SampleSet<D>& samples,
                                             std::span<const double> parameters, std::span<double> gradient,
                                             Visit&& visit)
{
  const TransformChain<D>& chain = chain_(*level_.chain, parameters);
  const StripePlan plan = planStripes(positionCount<D>(samples), parameters.size());
  std::vector<Sums> sums(plan.stripes);
  stripedGradient_.begin(gradient, plan.stripes);
  forEachChunk(context, plan.stripes, [&](std::size_t stripe) {
    thread_local PointBatch<D> points;
    thread_local std::vector<float> fixed(batchCapacity);
    thread_local Places places;
    Context oneThread;
    const std::span<double> own = gradient.empty() ? gradient : stripedGradient_.clearedStripe(stripe);
    for (std::size_t first = plan.first(stripe); first < plan.last(stripe); first += Places::most) {
      fillBatch<D>(samples, first, std::min(first + Places::most, plan.last(stripe)), points, fixed.data());
      places.points = points.list();
      places.places = points.count;
      sums[stripe].asked += points.count;
      places.times = timesOfPlace();
      places.timeOf.resize(places.times * places.places);
      chooseTimes(first, places.places, places.timeOf);
      gather(oneThread, chain, !gradient.empty(), places);
      visit(places, sums[stripe]);
      if (!gradient.empty())
        pullBack(oneThread, chain, places, own);
    }
  });
  return sums;
}

}
