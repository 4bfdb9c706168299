#include "Components/Optimizers/StandardGradientDescent.h"

#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Stage/StageComponents.h"

namespace tessera {
namespace {

struct Rows {
  Parameter<std::int64_t> iterations = maximumNumberOfIterations(500);
  Parameter<double> a = realParameter("SP_a", 400, Arity::perLevel, "", "step size a / (A + k + 1)^alpha: a");
  Parameter<double> A = realParameter("SP_A", 50, Arity::perLevel, "", "step size a / (A + k + 1)^alpha: A");
  Parameter<double> alpha =
      realParameter("SP_alpha", 0.602, Arity::perLevel, "", "step size a / (A + k + 1)^alpha: alpha");
  Parameter<std::int64_t> samplingAttempts = maximumNumberOfSamplingAttempts();

  Rows() { a.minimum = A.minimum = alpha.minimum = 0; }
};

const Rows rows;

}

const ComponentDescription& StandardGradientDescent::description()
{
  static const ComponentDescription description{Optimizer::roleName,
                                                "StandardGradientDescent",
                                                "gradient descent with steps a / (A + k + 1)^alpha",
                                                {rows.iterations, rows.a, rows.A, rows.alpha,
                                                 rows.samplingAttempts,
                                                 stageparameters::newSamplesEveryIteration()}};
  return description;
}

StandardGradientDescent::StandardGradientDescent(const Parameters& parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    levels_.push_back(
        {parameters.get(rows.iterations, level),
         parameters.get(rows.samplingAttempts, level),
         {parameters.get(rows.a, level), parameters.get(rows.A, level), parameters.get(rows.alpha, level)}});
}

/// Stochastic approximation (Robbins and Monro, "A stochastic approximation method", 1951) with the step
/// sizes of Spall, "Implementation of the simultaneous perturbation algorithm for stochastic optimization",
/// 1998. y is the position in scaled space (CostFunction).
///
///   for k = 0, 1, ..., MaximumNumberOfIterations - 1:
///     draw new samples, if NewSamplesEveryIteration
///     g_k = gradient of the cost at y_k over the samples
///     y_(k+1) = y_k - a / (A + k + 1)^alpha g_k
OptimizerReport StandardGradientDescent::minimize(CostFunction& cost, std::size_t level,
                                                  Buffer<double>& position, const IterationSink& sink)
{
  const Level& settings = levels_.at(level);
  const Context& context = cost.context();
  if (settings.iterations == 0)
    return reportOfNoIteration(cost, position.span());

  OptimizerReport report;
  Buffer<double>& gradient = vectors_.at(0);
  for (std::uint32_t k = 0; k < settings.iterations; ++k) {
    if (k > 0 && cost.newSamplesEveryIteration())
      cost.drawSamples(k, 0);
    report.value = evaluateWithAttempts(cost, k, settings.samplingAttempts, position.span(), gradient.span());
    const double gradientNorm = norm(context, gradient.span());
    requireFinite("StandardGradientDescent", level, k, report.value, gradientNorm);
    const double stepSize = settings.gain.at(k);
    axpy(context, -stepSize, gradient.span(), position.span());
    ++report.iterations;
    sink({k, report.value, {stepSize, gradientNorm}, {}}, position.span());
    if ((report.wasStopped = cost.isStopAsked()))
      return report;
  }
  report.stopCondition = maximumIterationsReached;
  return report;
}

}
