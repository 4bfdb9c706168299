#include "Components/Metrics/Shared/Series/SeriesTerm.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/TimeSlices.h"
#include "Core/Registration/StackOfTransforms.h"
#include "Core/Registration/Terms/GradientMatrix.h"

#include <limits>

namespace tessera {
namespace {

const Parameter<bool> useZeroAverageDisplacementConstraint = booleanParameter(
    "UseZeroAverageDisplacementConstraint", true, Arity::single,
    "take its mean over time off the gradient, so that the mean of the parameters over time stays. "
    "Those of a BSplineTransform are control points: displacements have this mean only where "
    "the grid along time is as fine as the times");
const Parameter<bool> subtractMean =
    booleanParameter("SubtractMean", false, Arity::single,
                     "older name of UseZeroAverageDisplacementConstraint, which counts if both are given");

bool readConstraint(const Parameters& parameters)
{
  const bool isNew = parameters.has(useZeroAverageDisplacementConstraint.name),
             isOld = parameters.has(subtractMean.name);
  const bool constraint = parameters.get(useZeroAverageDisplacementConstraint);
  if (isNew && isOld && constraint != parameters.get(subtractMean))
    parameters.warn(parameters.where(subtractMean.name) + ": not used, because "
                    + useZeroAverageDisplacementConstraint.name + " says otherwise.");
  return isOld && !isNew ? parameters.get(subtractMean) : constraint;
}

/// How parameters belong to times: parameter k of time t in group g is number (g * times + t) * each + k.
struct TimesOfParameters {
  std::size_t groups = 1, times = 0, each = 0; // no times: parameters belong to none
};

template <int D>
TimesOfParameters timesOfParameters(const Transform<D>& transform)
{
  if (const auto* const stack = dynamic_cast<const StackOfTransforms*>(&transform)) {
    const auto times = static_cast<std::size_t>(stack->times().count);
    return {1, times, times == 0 ? 0 : transform.parameterCount() / times};
  }
  if (const FieldForm<D>* const field = transform.field()) {
    const std::size_t times = field->grid().points.size[D - 1];
    return {D, times, times == 0 ? 0 : field->grid().pointCount() / times};
  }
  return {};
}

void subtractMeansOverTime(const Context& context, const TimesOfParameters& of, std::span<double> gradient)
{
  if (context.onCuda() && of.times > 0)
    return subtractMeanOverTimeOnCuda(context, of.groups, of.times, of.each, gradient.data());
  for (std::size_t group = 0; group < of.groups; ++group)
    for (std::size_t k = 0; k < of.each; ++k)
      subtractMeanOverTime(gradient.data() + group * of.times * of.each + k, of.times, of.each);
}

}

template <int D>
SeriesTerm<D>::SeriesTerm(const Parameters& parameters, std::string name)
    : parameters_(parameters), name_(std::move(name)), validSampleRule_(parameters),
      meanIsZero_(readConstraint(parameters))
{
}

template <int D>
std::vector<ParameterInfo> SeriesTerm<D>::seriesParameters()
{
  return joinedRows({{useZeroAverageDisplacementConstraint, subtractMean},
                     ValidSampleRule::parameters(),
                     gradientMatrixParameters()});
}

template <int D>
void SeriesTerm<D>::checkTransform(const Transform<D>& transform) const
{
  if (meanIsZero_ && !transform.field() && !dynamic_cast<const StackOfTransforms*>(&transform))
    parameters_.fail(useZeroAverageDisplacementConstraint.name,
                     "no parameter of (Transform \"" + transform.name() + "\") belongs to one time",
                     "Allowed: \"false\", or a transform such as \"BSplineStackTransform\"");
}

template <int D>
void SeriesTerm<D>::checkImages(const ImageGeometry<D>& fixed, const ImageGeometry<D>& moving)
{
  const std::string metric = "(Metric \"" + name_ + "\"): the ";
  requireSeries<D>(fixed, metric + "fixed image");
  requireSeries<D>(moving, metric + "moving image");
  if (fixed.size[D - 1] != moving.size[D - 1])
    throw Error(ExitCode::unreadableInput, metric + "fixed image has " + std::to_string(fixed.size[D - 1])
                                               + " times, and the moving image "
                                               + std::to_string(moving.size[D - 1])
                                               + ". Allowed: one series as both images.");
  gradientMatrix<D>(parameters_, moving); // throws if it has too few factors
  times_ = fixed.size[D - 1];
}

template <int D>
void SeriesTerm<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  SeriesTerm::endLevel();
  level_ = level;
  gradientMatrix_ = gradientMatrix<D>(parameters_, level.moving->geometry);
  const MemoryPart part(context, "samples");
  if (context.onCuda())
    onCuda_.emplace(context, level, gradientMatrix_);
}

template <int D>
void SeriesTerm<D>::chooseTimes(std::size_t, std::size_t places, std::span<std::uint32_t> timeOf) const
{
  for (std::size_t entry = 0; entry < timeOf.size(); ++entry)
    timeOf[entry] = static_cast<std::uint32_t>(entry / places);
}

template <int D>
void SeriesTerm<D>::pointsOf(const Places& places, std::size_t first, std::size_t last,
                             PointBatch<D>& points) const
{
  const ImageGeometry<D>& series = level_.fixed->geometry;
  points.count = last - first;
  for (std::size_t i = 0; i < points.count; ++i) {
    for (int d = 0; d + 1 < D; ++d)
      points.mm[d][i] = places.points.pointMm[d][(first + i) % places.places];
    points.mm[D - 1][i] =
        series.originMm[D - 1] + series.spacingMm[D - 1] * static_cast<double>(places.timeOf[first + i]);
  }
}

template <int D>
void SeriesTerm<D>::gather(Context& context, const TransformChain<D>& chain, bool withGradient,
                           Places& places) const
{
  thread_local PointBatch<D> points;
  thread_local std::vector<std::uint8_t> inside(batchCapacity);
  const std::size_t all = places.times * places.places;
  places.values.resize(all);
  places.slopes.assign(all, 0);
  for (std::vector<float>& axis : places.gradientPerMm)
    axis.resize(all);
  for (std::size_t first = 0; first < all; first += batchCapacity) {
    const std::size_t last = std::min(first + batchCapacity, all);
    pointsOf(places, first, last, points);
    mapChain<D>(context, chain, points.list(), points.out());
    const auto gradients = pointersTo<D>(places.gradientPerMm, first);
    level_.interpolator->evaluate(context, points.list(), places.values.data() + first,
                                  withGradient ? gradients.data() : nullptr, inside.data());
    for (std::size_t i = 0; i < points.count; ++i)
      if (!inside[i] || (level_.movingMask && !level_.movingMask->contains(points.point(i))))
        places.values[first + i] = std::numeric_limits<float>::quiet_NaN();
    if (withGradient && gradientMatrix_)
      multiplyGradients<D>(*gradientMatrix_, gradients, 0, points.count);
  }
}

template <int D>
void SeriesTerm<D>::pullBack(Context& context, const TransformChain<D>& chain, const Places& places,
                             std::span<double> gradient) const
{
  thread_local PointBatch<D> points, covectors;
  const std::size_t all = places.times * places.places;
  for (std::size_t first = 0; first < all; first += batchCapacity) {
    const std::size_t last = std::min(first + batchCapacity, all);
    pointsOf(places, first, last, points);
    mapInitial<D>(context, chain, points.list(), points.out());
    for (int d = 0; d < D; ++d)
      for (std::size_t i = first; i < last; ++i)
        covectors.mm[d][i - first] =
            places.slopes[i] == 0 ? 0 : places.slopes[i] * places.gradientPerMm[d][i];
    optimizable(*chain.transform)
        .pullBack(context, points.list(), chain.parameters, covectors.list().pointMm, gradient);
  }
}

template <int D>
TermValue SeriesTerm<D>::finish(Context& context, std::span<double> gradient, double factor,
                                const TermValue& value)
{
  const Transform<D>& transform = *level_.chain->transform;
  const Context vectors = vectorContext<D>(context, transform);
  if (onCuda_)
    scaleInto(vectors, factor, gradient, gradient);
  else
    stripedGradient_.sum(context, factor);
  if (meanIsZero_ && !gradient.empty())
    subtractMeansOverTime(vectors, timesOfParameters<D>(transform), gradient);
  return validSampleRule_.checked(level_.level, value);
}

// Series are images of two or three dimensions over time.
template class SeriesTerm<3>;
template class SeriesTerm<4>;

}
