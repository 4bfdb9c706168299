#include "Components/Optimizers/RegularStepGradientDescent.h"

#include "Core/Compute/Vectors/VectorOps.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

Parameter<double> halvingPerLevel(const char* name, const char* meaning)
{
  return realParameter(name, std::numeric_limits<double>::quiet_NaN(), Arity::perLevel, "", meaning)
      .atLeast(0);
}

struct Rows {
  Parameter<std::int64_t> iterations = maximumNumberOfIterations(500);
  Parameter<double> minimumGradientMagnitude = realParameter(
      "MinimumGradientMagnitude", 1e-8, Arity::perLevel, "", "stop below this norm of gradient / scales");
  Parameter<double> maximumStepLength =
      halvingPerLevel("MaximumStepLength", "length of the first step; 16 / 2^level if not given");
  Parameter<double> minimumStepLength =
      halvingPerLevel("MinimumStepLength", "stop when steps become shorter; 0.5 / 2^level if not given");
  Parameter<double> relaxationFactor =
      realParameter("RelaxationFactor", 0.5, Arity::perLevel, "",
                    "factor on the step length when the direction turns back, in [0, 1)");
};

const Rows rows;

}

const ComponentDescription& RegularStepGradientDescent::description()
{
  static const ComponentDescription description{
      Optimizer::roleName,
      "RegularStepGradientDescent",
      "gradient descent with steps of fixed length, shortened at turns",
      {rows.iterations, rows.minimumGradientMagnitude, rows.maximumStepLength, rows.minimumStepLength,
       rows.relaxationFactor}};
  return description;
}

RegularStepGradientDescent::RegularStepGradientDescent(const Parameters& parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level) {
    const double halving = std::ldexp(1.0, -static_cast<int>(level));
    const Level settings{parameters.get(rows.iterations, level),
                         parameters.get(rows.minimumGradientMagnitude, level),
                         valueOr(parameters, rows.maximumStepLength, level, 16 * halving),
                         valueOr(parameters, rows.minimumStepLength, level, 0.5 * halving),
                         parameters.get(rows.relaxationFactor, level)};
    if (!(settings.relaxationFactor >= 0 && settings.relaxationFactor < 1))
      parameters.fail(rows.relaxationFactor.name, "steps would not become shorter",
                      "Allowed: a number of at least 0 and less than 1");
    levels_.push_back(settings);
  }
}

/// The method of ITK's and elastix's optimizer of this name. x are the parameters, s_i their scales; the
/// position is y_i = x_i sqrt(s_i) (CostFunction).
///
///   length = MaximumStepLength, d_(-1) = 0
///   for k = 0, 1, ..., MaximumNumberOfIterations - 1:
///     d_k[i] = (d cost / d x_i) / s_i                     the samples stay the same
///     if |d_k| < MinimumGradientMagnitude: stop
///     if d_k . d_(k-1) < 0: length = length * RelaxationFactor       the direction has turned back
///     if length < MinimumStepLength: stop
///     x_(k+1) = x_k - length * d_k / |d_k|
OptimizerReport RegularStepGradientDescent::minimize(CostFunction& cost, std::size_t level,
                                                     Buffer<double>& position, const IterationSink& sink)
{
  const Level& settings = levels_.at(level);
  const Context& context = cost.context();
  if (settings.iterations == 0)
    return reportOfNoIteration(cost, position.span());

  OptimizerReport report;
  report.stopCondition = maximumIterationsReached;
  Buffer<double>&gradient = vectors_.at(0), &direction = vectors_.at(1), &previousDirection = vectors_.at(2),
  &scratch = vectors_.at(3);
  fill(context, 0, direction.span());
  double length = settings.maximumStepLength;
  for (std::size_t k = 0; k < static_cast<std::size_t>(settings.iterations); ++k) {
    std::swap(direction, previousDirection);
    report.value = cost.evaluate(position.span(), gradient.span());
    multiplyInto(context, gradient.span(), cost.inverseRootScales(), direction.span());
    divideInto(context, gradient.span(), cost.inverseRootScales(), scratch.span());
    const double directionNorm = norm(context, direction.span()),
                 gradientNorm = norm(context, scratch.span());
    requireFinite("RegularStepGradientDescent", level, k, report.value, gradientNorm);
    if (directionNorm < settings.minimumGradientMagnitude || directionNorm == 0) {
      report.stopCondition = "Minimum gradient magnitude has been reached.";
      break;
    }
    if (dot(context, direction.span(), previousDirection.span()) < 0)
      length *= settings.relaxationFactor;
    if (length < settings.minimumStepLength) {
      report.stopCondition = "Minimum step size has been reached.";
      break;
    }
    // In y this is a multiple of the gradient; in x the step has the length `length`.
    axpy(context, -length / directionNorm, gradient.span(), position.span());
    ++report.iterations;
    sink({k, report.value, {length, gradientNorm}, {}}, position.span());
    if ((report.wasStopped = cost.isStopAsked()))
      return report;
  }
  return report;
}

}
