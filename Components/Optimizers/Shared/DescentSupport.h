#pragma once

#include "Core/Registration/Optimizer.h"

#include <cstdint>

namespace tessera {

// Functions that the gradient descent optimizers share.

/// Step size a / (A + time + 1)^alpha of stochastic approximation (Robbins and Monro, 1951; Spall, 1998).
struct DecayingGain {
  double a = 0, A = 0, alpha = 0;

  double at(double time) const;
};

Parameter<std::int64_t> maximumNumberOfIterations(std::int64_t defaultValue);
Parameter<std::int64_t> maximumNumberOfSamplingAttempts();

/// The parameter's value for a level, or `fallback` if the parameter file does not have the parameter.
double valueOr(const Parameters&, const Parameter<double>&, std::size_t level, double fallback);

/// Evaluates the cost over the current samples. If too few of them are valid, it draws others, at most
/// `attempts` times, and then throws the cost's Error(registrationFailed).
double evaluateWithAttempts(CostFunction&, std::uint32_t iteration, std::int64_t attempts,
                            std::span<const double> position, std::span<double> gradient);

/// Throws Error(registrationFailed) if the value or the norm of the gradient is not finite.
void requireFinite(const std::string& optimizer, std::size_t level, std::size_t iteration, double value,
                   double gradientNorm);

/// The report of a level with (MaximumNumberOfIterations 0).
OptimizerReport reportOfNoIteration(CostFunction&, std::span<const double> position);

constexpr const char* maximumIterationsReached = "Maximum number of iterations has been reached.";

}
