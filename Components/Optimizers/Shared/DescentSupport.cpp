#include "Components/Optimizers/Shared/DescentSupport.h"

#include "Core/Compute/Error.h"

#include <cmath>

namespace tessera {

double DecayingGain::at(double time) const
{
  return a / std::pow(A + time + 1, alpha);
}

Parameter<std::int64_t> maximumNumberOfIterations(std::int64_t defaultValue)
{
  return integerParameter("MaximumNumberOfIterations", defaultValue, 0, Arity::perLevel, "",
                          "iterations of a level; 0: none");
}

Parameter<std::int64_t> maximumNumberOfSamplingAttempts()
{
  return integerParameter(
      "MaximumNumberOfSamplingAttempts", 0, 0, Arity::perLevel, "",
      "how often an iteration may draw other samples when too few map inside the moving image");
}

double valueOr(const Parameters& parameters, const Parameter<double>& parameter, std::size_t level,
               double fallback)
{
  return parameters.has(parameter.name) ? parameters.get(parameter, level) : fallback;
}

double evaluateWithAttempts(CostFunction& cost, std::uint32_t iteration, std::int64_t attempts,
                            std::span<const double> position, std::span<double> gradient)
{
  for (std::int64_t attempt = 1;; ++attempt) {
    try {
      return cost.evaluate(position, gradient);
    } catch (const Error& error) {
      if (error.code() != ExitCode::registrationFailed || attempt > attempts)
        throw;
      cost.log("Iteration " + std::to_string(iteration) + ": " + error.what());
    }
    cost.log("Drawing other samples, attempt " + std::to_string(attempt) + " of " + std::to_string(attempts)
             + ".");
    cost.drawSamples(iteration, static_cast<std::uint32_t>(attempt));
  }
}

void requireFinite(const std::string& optimizer, std::size_t level, std::size_t iteration, double value,
                   double gradientNorm)
{
  if (std::isfinite(value) && std::isfinite(gradientNorm))
    return;
  throw Error(ExitCode::registrationFailed, optimizer + ": level " + std::to_string(level) + ", iteration "
                                                + std::to_string(iteration) + ": the cost is "
                                                + std::to_string(value) + " and the norm of its gradient "
                                                + std::to_string(gradientNorm)
                                                + ": the registration diverged. Allowed are finite numbers; "
                                                  "smaller steps or a closer start may help.");
}

OptimizerReport reportOfNoIteration(CostFunction& cost, std::span<const double> position)
{
  OptimizerReport report;
  report.value = cost.evaluate(position, {});
  report.stopCondition = maximumIterationsReached;
  return report;
}

}
