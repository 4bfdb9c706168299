#include "Components/Metrics/KNNGraphAlphaMutualInformation.h"

#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Metrics/Shared/NeighbourGraphs/NeighbourGraphOnCuda.h"
#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Terms/WarpedLattice.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

/// All pairs of samples are compared; 2^17 samples of 30 features take a minute on one core.
constexpr std::size_t maxSamples = std::size_t(1) << 17;

const Parameter<double> alpha =
    realParameter("Alpha", 0.5, Arity::single, "", "the order of the mutual information")
        .atLeast(aboveZero)
        .atMost(1 - 1e-9);

const Parameter<double> avoidDivisionBy =
    realParameter("AvoidDivisionBy", 1e-5, Arity::single, "intensity",
                  "distances, and sums of them, up to this one are left out of quotients")
        .atLeast(0);

const Parameter<std::int64_t> kNearestNeighbours =
    integerParameter("KNearestNeighbours", 20, 1, Arity::perLevel, "samples",
                     "neighbours of each sample in each graph")
        .atMost(maxSamples);

const Parameter<std::int64_t> fixedFeatureOrder =
    integerParameter("FixedImageInterpolatorBSplineOrder", 1, 0, Arity::list, "",
                     "order 0 to 5 of the interpolation of fixed image 1, 2, ... (the first value, which the "
                     "others replace, is that of image 0)")
        .atMost(5);

/// An interpolator of the order that the parameters give fixed image `image`.
template <int D>
std::unique_ptr<Interpolator<D>> interpolatorOfFixed(const Parameters& parameters, std::size_t image)
{
  std::vector<std::string> notes;
  const std::string text =
      "(BSplineInterpolationOrder " + std::to_string(parameters.get(fixedFeatureOrder, image)) + ")";
  return std::make_unique<BSplineInterpolator<D>>(Parameters(
      std::make_shared<ParameterMap>(parseParameterText(text, fixedFeatureOrder.name, notes)), "", D, 1));
}

}

template <int D>
KNNGraphAlphaMutualInformation<D>::KNNGraphAlphaMutualInformation(const Parameters& parameters)
    : TermOnImages<D>(parameters), parameters_(parameters)
{
  parameters.get(alpha);
  settings_.avoidDivisionBy = parameters.get(avoidDivisionBy);
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    parameters.get(kNearestNeighbours, level);
  parameters.all(fixedFeatureOrder);
}

template <int D>
const ComponentDescription& KNNGraphAlphaMutualInformation<D>::description()
{
  static const ComponentDescription description{
      "Metric", "KNNGraphAlphaMutualInformation",
      "alpha mutual information of several images of each side, from graphs of nearest neighbours (Staring "
      "et al. 2009)",
      joinedRows(
          {{alpha, avoidDivisionBy, kNearestNeighbours, fixedFeatureOrder}, ValidSampleRule::parameters()})};
  return description;
}

template <int D>
AlphaMutualInformation KNNGraphAlphaMutualInformation<D>::formula() const
{
  return {parameters_.get(alpha), settings_.avoidDivisionBy};
}

template <int D>
void KNNGraphAlphaMutualInformation<D>::checkCount(std::size_t samples) const
{
  if (samples > maxSamples)
    parameters_.fail(
        "Metric",
        "\"KNNGraphAlphaMutualInformation\" compares all pairs of samples, and " + std::to_string(samples)
            + " are too many",
        "Allowed: at most " + std::to_string(maxSamples)
            + " samples, such as (ImageSampler \"RandomCoordinate\") with (NumberOfSpatialSamples 5000)");
}

template <int D>
void KNNGraphAlphaMutualInformation<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  level_ = level;
  for (const ExpectedSamples<D>& expected : level.expected)
    checkCount(expected.positions);
  ofMoving_.assign(1, level.interpolator);
  ofMoving_.insert(ofMoving_.end(), features_.moving.begin(), features_.moving.end());
  for (const ImagePointer<D>& image : features_.fixed) {
    const MemoryPart part(context, "images");
    ofFixedFeatures_.push_back(interpolatorOfFixed<D>(parameters_, ofFixedFeatures_.size() + 1));
    ofFixedFeatures_.back()->prepareForLevel(context, image, 0);
  }
  settings_.neighbours = static_cast<int>(parameters_.get(kNearestNeighbours, level.level));
  settings_.fixedFeatures = static_cast<int>(1 + ofFixedFeatures_.size());
  settings_.movingFeatures = static_cast<int>(ofMoving_.size());
  settings_.exponent = settings_.features() * (1 - parameters_.get(alpha));
  if (context.onCuda())
    prepareOnCuda(context);
}

template <int D>
void KNNGraphAlphaMutualInformation<D>::prepareOnCuda(Context& context)
{
  level_.slabs = 1; // a sample's neighbours may be anywhere
  std::vector<InterpolatorOnCuda<D>> fixed, moving;
  for (const auto& interpolator : ofFixedFeatures_)
    fixed.push_back(*interpolator->onCuda());
  for (const Interpolator<D>* interpolator : ofMoving_)
    moving.push_back(*interpolator->onCuda());
  const MemoryPart part(context, "metric");
  auto graphs = std::make_unique<NeighbourGraphOnCuda<D>>(settings_, std::move(fixed), std::move(moving));
  for (const ExpectedSamples<D>& expected : level_.expected)
    graphs->reserve(context, expected.positions);
  auto information = std::make_unique<SumsOnCuda<AlphaMutualInformation>>(context, formula());
  const MemoryPart ofSamples(context, "samples");
  onCuda_ = std::make_unique<ImageTermOnCuda<D>>(context, level_, std::move(graphs), std::move(information));
}

/// Fills values_ and, if wanted, gradients_ at positions [first, last). Positions outside the fixed mask
/// leave their places, at the end of the range, as they are.
template <int D>
void KNNGraphAlphaMutualInformation<D>::gatherBatch(const SampleSet<D>& samples,
                                                    const TransformChain<D>& chain, std::size_t first,
                                                    std::size_t last, bool withGradient, std::size_t& asked)
{
  thread_local PointBatch<D> points, mapped;
  thread_local std::vector<float> firstFixed(batchCapacity);
  std::uint8_t counts[batchCapacity], inside[batchCapacity];
  Context oneThread;
  fillBatch<D>(samples, first, last, points, firstFixed.data());
  asked = mapped.count = points.count;
  mapChain<D>(oneThread, chain, points.list(), mapped.out());
  for (std::size_t i = 0; i < asked; ++i)
    counts[i] = !level_.movingMask || level_.movingMask->contains(mapped.list().point(i));

  float* feature = values_.values.data() + first;
  const auto use = [&](const Interpolator<D>& interpolator, const PointBatch<D>& at, float* const* slopes) {
    interpolator.evaluate(oneThread, at.list(), feature, slopes, inside);
    for (std::size_t i = 0; i < asked; ++i)
      counts[i] = counts[i] && inside[i] && feature[i] == feature[i];
    feature += values_.count;
  };
  std::copy_n(firstFixed.data(), asked, feature);
  feature += values_.count;
  for (const auto& interpolator : ofFixedFeatures_)
    use(*interpolator, points, nullptr);
  for (std::size_t m = 0; m < ofMoving_.size(); ++m) {
    std::array<float*, D> slopes{};
    for (int d = 0; withGradient && d < D; ++d)
      slopes[d] = gradients_.data() + (m * D + d) * values_.count + first;
    use(*ofMoving_[m], mapped, withGradient ? slopes.data() : nullptr);
  }
  float* const fixed = values_.values.data() + first;
  float* const moving = fixed + settings_.fixedFeatures * values_.count;
  for (std::size_t i = 0; i < asked; ++i)
    if (!counts[i] || fixed[i] != fixed[i])
      fixed[i] = moving[i] = std::numeric_limits<float>::quiet_NaN();
}

/// Fills values_ and, if wanted, gradients_ for all samples, and returns how many the fixed mask has.
template <int D>
std::size_t KNNGraphAlphaMutualInformation<D>::gather(Context& context, const SampleSet<D>& samples,
                                                      const TransformChain<D>& chain, bool withGradient)
{
  values_.count = positionCount<D>(samples);
  values_.values.assign(settings_.features() * values_.count, std::numeric_limits<float>::quiet_NaN());
  if (withGradient)
    gradients_.assign(ofMoving_.size() * D * values_.count, 0);
  std::vector<std::size_t> asked((values_.count + batchCapacity - 1) / batchCapacity);
  forEachRange(context, values_.count, batchCapacity, [&](std::size_t first, std::size_t last) {
    gatherBatch(samples, chain, first, last, withGradient, asked[first / batchCapacity]);
  });
  std::size_t sum = 0;
  for (const std::size_t ofBatch : asked)
    sum += ofBatch;
  return sum;
}

/// gradient = slope * sum over samples of J^T covector.
template <int D>
void KNNGraphAlphaMutualInformation<D>::pullBack(Context& context, const SampleSet<D>& samples,
                                                 const TransformChain<D>& chain, float slope,
                                                 std::span<double> gradient)
{
  const StripePlan plan = planStripes(values_.count, chain.parameters.size());
  stripedGradient_.begin(gradient, plan.stripes);
  forEachChunk(context, plan.stripes, [&](std::size_t stripe) {
    thread_local PointBatch<D> points;
    thread_local std::vector<float> fixed(batchCapacity);
    const std::vector<float> slopes(batchCapacity, slope);
    const std::span<double> own = stripedGradient_.clearedStripe(stripe);
    Context oneThread;
    for (std::size_t first = plan.first(stripe); first < plan.last(stripe); first += batchCapacity) {
      fillBatch<D>(samples, first, std::min(first + batchCapacity, plan.last(stripe)), points, fixed.data());
      mapInitial<D>(oneThread, chain, points.list(), points.out());
      std::array<const float*, D> covectors;
      for (int d = 0; d < D; ++d)
        covectors[d] = covectors_.data() + d * values_.count + first;
      pullBackSlopes<D>(chain, points.list(), slopes.data(), covectors, own);
    }
  });
  stripedGradient_.sum(context, 1);
}

template <int D>
TermValue KNNGraphAlphaMutualInformation<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                          std::span<const double> parameters,
                                                          std::span<double> gradient)
{
  checkCount(positionCount<D>(samples));
  const TransformChain<D>& chain = chain_(*level_.chain, parameters);
  TermValue result;
  result.asked = gather(context, samples, chain, !gradient.empty());
  findNeighbours(context, settings_, values_, samples_, summands_);
  const AlphaMutualInformation information = formula();
  AlphaMutualInformation::Sums sums;
  for (const double summand : summands_)
    if (summand == summand) {
      information.accumulate(sums, 0, summand);
      ++result.valid;
    }
  this->checkValid(result.valid, result.asked);
  const AlphaMutualInformation::Table table = information.finish(sums, result.valid);
  result.value = information.value(table);
  if (!gradient.empty()) {
    pullBackGraphs(context, settings_, values_, samples_, gradients_, D, covectors_);
    pullBack(context, samples, chain, information.slope(table, 0, 0), gradient);
  }
  return result;
}

TESSERA_INSTANTIATE_CLASS(KNNGraphAlphaMutualInformation);

}
