#include "Core/Registration/Stage/Cost.h"

#include "Core/Compute/Cuda/Range.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Compute/Vectors/VectorOpsOnCuda.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace tessera {
namespace {

constexpr std::size_t fewProducts = 40; // more take memory of their own

template <int D>
ListSamples<D> slice(const PointList<D>& list, std::size_t first, std::size_t last)
{
  return {pointersTo<D>(list.mm, first), last - first};
}

}

template <int D>
Cost<D>::Cost(const Context& context, Level level)
    : context_(context), vectors_(vectorContext<D>(context, *level.chain->transform)), host_(context.onCpu()),
      level_(std::move(level)),
      hasUnitScales_(std::ranges::all_of(level_.scales, [](double scale) { return scale == 1; })),
      forTheHost_(vectors_, vectors_.onCuda() ? level_.scales.size() : 0),
      gradients_(makeVectors(vectors_, level_.parts.size(), level_.scales.size())),
      reports_(level_.parts.size()), weights_(level_.parts.size())
{
  times_.ofTerms.resize(level_.parts.size());
  if (hasUnitScales_) { // hundreds of thousands of them
    inverseRootScales_ = Buffer<double>(vectors_, level_.scales.size());
    if (!onlyCountsMemory(vectors_))
      fill(vectors_, 1, inverseRootScales_.span());
  } else {
    std::vector<double> inverseRoots(level_.scales.size());
    for (std::size_t i = 0; i < level_.scales.size(); ++i)
      inverseRoots[i] = 1 / std::sqrt(level_.scales[i]);
    inverseRootScales_.fromHost(vectors_, inverseRoots);
  }
  if (vectors_.onCuda()) {
    parameters_ = Buffer<double>(vectors_, level_.scales.size());
    products_ = PinnedValues<double>(vectors_, fewProducts);
  }
}

template <int D>
std::span<const double> Cost<D>::moveTo(std::span<const double> position)
{
  if (!vectors_.onCuda()) {
    level_.chain->parameters.resize(position.size());
    multiplyInto(vectors_, position, inverseRootScales(), level_.chain->parameters);
    return level_.chain->parameters;
  }
  multiplyInto(vectors_, position, inverseRootScales(), parameters_.span());
  return parameters_.span();
}

template <int D>
std::vector<double> Cost<D>::parametersOf(std::span<const double> position) const
{
  std::vector<double> parameters;
  copyParametersOf(position, parameters);
  return parameters;
}

template <int D>
void Cost<D>::copyParametersOf(std::span<const double> position, std::vector<double>& parameters) const
{
  parameters.resize(position.size());
  if (!vectors_.onCuda())
    return multiplyInto(vectors_, position, inverseRootScales(), parameters);
  const std::span<double> onDevice = forTheHost_.span();
  multiplyInto(vectors_, position, inverseRootScales(), onDevice);
  vectors_.stream->copyToHost(parameters.data(), onDevice.data(), onDevice.size_bytes());
}

template <int D>
void Cost<D>::Times::addEvaluations(bool withGradient, double milliseconds, std::size_t count)
{
  evaluations[withGradient] += milliseconds;
  EvaluationLaunches& each = launches[withGradient];
  const double one = milliseconds / static_cast<double>(count);
  each.least = each.count > 0 ? std::min(each.least, one) : one;
  each.most = std::max(each.most, one);
  each.count += count;
}

template <int D>
Buffer<double> Cost<D>::positionOf(std::span<const double> parameters) const
{
  Buffer<double> position;
  std::vector<double> scaled;
  if (!hasUnitScales_) {
    scaled.resize(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i)
      scaled[i] = parameters[i] * std::sqrt(level_.scales[i]);
    parameters = scaled;
  }
  position.fromHost(vectors_, parameters);
  return position;
}

template <int D>
double Cost<D>::combine(const SamplesOfPart& samplesOf, std::span<const double> position,
                        std::span<double> gradient, std::span<const VectorPair> pairs,
                        std::vector<double>* products)
{
  const Range range("evaluation");
  const HostClock all(context_);
  const std::span<const double> parameters = moveTo(position);
  const bool wantsGradient = !gradient.empty();
  // Whether the gradient can be made before the values of the terms are known.
  const bool inOneGo = wantsGradient && vectors_.onCuda() && !level_.combination.relative;
  enqueueTerms(samplesOf, parameters, wantsGradient, products && inOneGo && !newSamplesEveryIteration());
  if (inOneGo) {
    weights_ = level_.combination.weights;
    sumGradients(gradient);
  }
  waitForTerms(wantsGradient, inOneGo ? pairs : std::span<const VectorPair>());
  const double value = collectTerms(parameters, wantsGradient);
  times_.addEvaluations(wantsGradient, all.milliseconds(), 1);
  if (wantsGradient && !inOneGo)
    sumGradients(gradient);
  if (products && inOneGo)
    products->assign(&products_[0], &products_[0] + pairs.size());
  else if (products)
    *products = dots(vectors_, pairs);
  return value;
}

template <int D>
void Cost<D>::sumGradients(std::span<double> gradient)
{
  const std::span<const double> factors = hasUnitScales_ ? std::span<const double>() : inverseRootScales();
  std::vector<WeightedVector> weighted;
  for (std::size_t t = 0; t < level_.parts.size(); ++t)
    weighted.push_back({weights_[t], ownGradient(t, true)});
  sumInto(vectors_, weighted, factors, gradient);
}

/// Enqueues the terms that run on a CUDA device, and evaluates the others. The work of terms that read
/// parameters alone goes beside that of others, as it does not fill the device; not before they have what
/// they make in their first evaluation. If the evaluation is one of many it is recorded.
template <int D>
void Cost<D>::enqueueTerms(const SamplesOfPart& samplesOf, std::span<const double> parameters,
                           bool wantsGradient, bool isRepeated)
{
  std::array<std::vector<std::size_t>, 2> terms; // those of the main work, and those beside
  for (std::size_t t = 0; t < level_.parts.size(); ++t) {
    const TermOnCuda<D>* const onCuda = level_.parts[t].term->onCuda();
    terms[level_.parts.size() > 1 && evaluations_.all > 1 && onCuda && onCuda->isApart()].push_back(t);
  }
  const auto enqueue = [&](bool beside) {
    for (const std::size_t t : terms[beside])
      enqueueTerm(t, samplesOf(level_.parts[t]), parameters, wantsGradient);
  };
  if (terms[true].empty())
    return enqueue(false);
  context_.stream->sideBySide([&] { enqueue(true); }, [&] { enqueue(false); },
                              isRepeated ? &recorded_ : nullptr);
}

template <int D>
void Cost<D>::enqueueTerm(std::size_t t, const SampleSet<D>& samples, std::span<const double> parameters,
                          bool wantsGradient)
{
  const Range ofTerm(level_.names[t].c_str());
  const HostClock clock(context_);
  CostTerm<D>& term = *level_.parts[t].term;
  if (TermOnCuda<D>* const onCuda = term.onCuda())
    onCuda->enqueue(context_, samples, parameters, ownGradient(t, wantsGradient));
  else
    reports_[t].value = term.evaluate(context_, samples, parameters, ownGradient(t, wantsGradient)).value;
  reports_[t].milliseconds = clock.milliseconds();
  times_.ofTerms[t][wantsGradient] += reports_[t].milliseconds;
}

/// The weighted sum of the terms' values, after waitForTerms.
template <int D>
double Cost<D>::collectTerms(std::span<const double> parameters, bool wantsGradient)
{
  double value = 0;
  for (std::size_t t = 0; t < level_.parts.size(); ++t) {
    if (TermOnCuda<D>* const onCuda = level_.parts[t].term->onCuda())
      reports_[t].value = onCuda->collect(parameters, ownGradient(t, wantsGradient)).value;
    reports_[t].gradientNorm = wantsGradient && wantsNorms() ? gradientNorm(t) : 0;
    weights_[t] = weightOf(t, wantsGradient);
    value += weights_[t] * reports_[t].value;
  }
  return value;
}

template <int D>
void Cost<D>::waitForTerms(bool withGradients, std::span<const VectorPair> asked)
{
  if (!context_.onCuda())
    return;
  std::vector<VectorPair> pairs(asked.begin(), asked.end());
  for (std::size_t t = 0; t < gradients_.size() && withGradients && wantsNorms() && vectors_.onCuda(); ++t)
    pairs.push_back({ownGradient(t, true), ownGradient(t, true)});
  if (pairs.size() > products_.size())
    products_ = PinnedValues<double>(vectors_, pairs.size());
  if (!pairs.empty())
    oncuda::dotsInto(vectors_, pairs, &products_[0]);
  context_.stream->wait();
  if (pairs.size() > asked.size())
    squaredNorms_.assign(&products_[asked.size()], &products_[0] + pairs.size());
}

template <int D>
double Cost<D>::gradientNorm(std::size_t term)
{
  return vectors_.onCuda() ? std::sqrt(squaredNorms_[term]) : norm(vectors_, gradients_[term].span());
}

/// A relative weight scales a term's gradient to the norm of the first term's gradient. Without gradients it
/// scales the term's value to the first one's.
template <int D>
double Cost<D>::weightOf(std::size_t term, bool byGradients) const
{
  constexpr double nothing = 1e-10;
  const double weight = level_.combination.weights[term];
  if (!level_.combination.relative)
    return weight;
  const auto size = [&](std::size_t t) {
    return byGradients ? reports_[t].gradientNorm : std::abs(reports_[t].value);
  };
  return size(term) > nothing ? weight * size(0) / size(term) : 1;
}

namespace {

template <int D>
const SampleSet<D>& samplesOf(const CostPart<D>& part)
{
  static const SampleSet<D> none = PointList<D>{};
  return part.sampler ? part.sampler->samples() : none;
}

}

template <int D>
double Cost<D>::evaluate(std::span<const double> position, std::span<double> gradient)
{
  ++evaluations_.all;
  evaluations_.withGradient += gradient.empty() ? 0 : 1;
  return combine(samplesOf<D>, position, gradient);
}

template <int D>
double Cost<D>::evaluateWithProducts(std::span<const double> position, std::span<double> gradient,
                                     std::span<const VectorPair> pairs, std::vector<double>& products)
{
  ++evaluations_.all;
  evaluations_.withGradient += gradient.empty() ? 0 : 1;
  return combine(samplesOf<D>, position, gradient, pairs, &products);
}

/// A CUDA device works on while the host prepares the next positions, and the host waits once for all.
template <int D>
void Cost<D>::evaluateSeveral(std::size_t count, const PositionAt& positionAt, const TakeValue& take)
{
  const std::size_t atOnce = mostInFlight();
  if (atOnce == 1 || newSamplesEveryIteration())
    return;
  const Range range("evaluations");
  for (std::size_t first = 0; first < count; first += atOnce) {
    const HostClock clock(context_);
    const std::size_t last = std::min(first + atOnce, count);
    for (std::size_t i = first; i < last; ++i) {
      useSlot(i - first);
      ++evaluations_.all;
      enqueueTerms(samplesOf<D>, moveTo(positionAt(i)), false);
    }
    waitForTerms(false);
    times_.addEvaluations(false, clock.milliseconds(), last - first);
    for (std::size_t i = first; i < last; ++i) {
      useSlot(i - first);
      double value = 0;
      try {
        value = collectTerms({}, false);
      } catch (const Error& error) {
        if (error.code() != ExitCode::registrationFailed)
          throw;
        return; // evaluate() throws it again
      }
      if (!take(value))
        return;
    }
  }
}

template <int D>
std::size_t Cost<D>::mostInFlight() const
{
  std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const CostPart<D>& part : level_.parts) {
    const TermOnCuda<D>* const onCuda = part.term->onCuda();
    most = std::min(most, onCuda ? onCuda->mostInFlight() : 1);
  }
  return most;
}

template <int D>
std::vector<std::vector<Phase>> Cost<D>::timePhases(std::span<const double> position, bool withGradient)
{
  const Range range("timing of parts");
  std::vector<std::vector<Phase>> phases;
  const std::span<const double> parameters = moveTo(position);
  for (std::size_t t = 0; t < level_.parts.size(); ++t)
    phases.push_back(level_.parts[t].term->timePhases(context_, samplesOf<D>(level_.parts[t]), parameters,
                                                      ownGradient(t, withGradient)));
  return phases;
}

template <int D>
typename Cost<D>::ExactValues Cost<D>::exactValues(std::span<const double> position, const Size<D>& step)
{
  const std::span<const double> parameters = moveTo(position);
  ExactValues values;
  for (std::size_t t = 0; t < level_.parts.size(); ++t) {
    const CostPart<D>& part = level_.parts[t];
    double value = 0;
    if (part.sampler) {
      const SampleSet<D> samples =
          part.sampler->givesExactValues()
              ? part.sampler->samples()
              : SampleSet<D>(gridOfStep<D>(step, part.fixed, part.fixedRegion, part.fixedMask));
      value = part.term->evaluate(context_, samples, parameters, {}).value;
    }
    values.ofTerms.push_back(value);
    values.combined += weights_[t] * value;
  }
  return values;
}

template <int D>
void Cost<D>::drawSamples(std::uint32_t iteration, std::uint32_t attempt)
{
  const Range range("sampling");
  const HostClock clock(context_);
  std::set<ImageSampler<D>*> drawn;
  for (std::size_t t = 0; t < level_.parts.size(); ++t) {
    ImageSampler<D>* sampler = level_.parts[t].sampler;
    if (!sampler || !drawn.insert(sampler).second)
      continue;
    Draw draw = level_.draw;
    draw.iteration = iteration;
    draw.seed += 0x9E3779B97F4A7C15ull * attempt
                 + 0xD1B54A32D192ED03ull * t; // so that other samplers and attempts get other numbers
    sampler->draw(context_, draw);
  }
  times_.sampling += clock.milliseconds();
}

template <int D>
bool Cost<D>::samplesAreRandom() const
{
  return std::any_of(level_.parts.begin(), level_.parts.end(),
                     [](const auto& part) { return part.sampler && part.sampler->isRandom(); });
}

template <int D>
bool Cost<D>::isSteep() const
{
  return std::ranges::any_of(level_.parts, [](const auto& part) { return part.term->isSteep(); });
}

template <int D>
bool Cost<D>::setRandomRegion(bool on)
{
  bool was = false;
  for (const CostPart<D>& part : level_.parts)
    if (part.sampler)
      was = part.sampler->setRandomRegion(on) || was;
  return was;
}

template <int D>
PointList<D> Cost<D>::gridPoints(std::size_t wanted) const
{
  const CostPart<D>& part = level_.parts.front();
  PointList<D> points = allSamples<D>(gridOfAbout<D>(wanted, part.fixed, part.fixedRegion, part.fixedMask));
  forEachRange(host_, points.positions(), batchCapacity, [&](std::size_t first, std::size_t last) {
    Context context = host_;
    mapInitial<D>(context, *level_.chain, slice(points, first, last), pointersTo<D>(points.mm, first));
  });
  return points;
}

template <int D>
JacobianTerms Cost<D>::jacobianTerms(std::size_t wanted, std::span<const double> position,
                                     std::size_t& samplesFound)
{
  const Range range("step sizes");
  const HostClock clock(context_);
  const PointList<D> points = gridPoints(wanted);
  samplesFound = points.positions();
  const JacobianTerms terms =
      optimizable(*level_.chain->transform)
          .jacobianTerms(host_, slice(points, 0, samplesFound), parametersOf(position), level_.scales);
  times_.stepSizes += clock.milliseconds();
  return terms;
}

template <int D>
std::vector<double> Cost<D>::displacementsMm(std::size_t wanted, std::span<const double> position,
                                             std::span<const double> gradient)
{
  const Range range("step sizes");
  const HostClock clock(context_);
  const PointList<D> points = gridPoints(wanted);
  const std::vector<double> parameters = parametersOf(position), step = parametersOf(gradient);
  std::vector<double> lengths(points.positions());
  forEachRange(host_, lengths.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> vectors;
    Context context = host_;
    optimizable(*level_.chain->transform)
        .pushForward(context, slice(points, first, last), parameters, step, vectors.out());
    for (std::size_t i = first; i < last; ++i)
      lengths[i] = lengthOf<D>(vectors.point(i - first));
  });
  times_.stepSizes += clock.milliseconds();
  return lengths;
}

TESSERA_INSTANTIATE_CLASS_TO_4(Cost);

}
