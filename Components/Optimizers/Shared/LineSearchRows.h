#pragma once

#include "Components/Optimizers/Shared/MoreThuenteLineSearch.h"
#include "Core/Registration/Optimizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// The optimizers with a line search share these parameters and these rows of the iteration table.

/// A parameter with one number a level, none of them negative.
Parameter<double> notNegative(const char* parameter, double defaultValue, const char* meaning);

struct LineSearchParameters {
  Parameter<std::int64_t> iterations;
  Parameter<double> stepLength, valueTolerance, gradientTolerance, gradientMagnitude;
  Parameter<bool> stopIfWolfe, rows;
};
const LineSearchParameters& lineSearchParameters();

/// Throws Error(usage) if no step could satisfy both Wolfe conditions.
LineSearchSettings readLineSearch(const Parameters&, std::size_t level);

std::vector<std::string> lineSearchColumns();

/// A row with these columns. `gradientNorm` is the norm of the gradient at the state's point. Without Wolfe
/// conditions their columns have a dash.
IterationRow lineSearchRow(std::size_t row, const LineSearchState&, double gradientNorm, double directionNorm,
                           std::size_t direction, const std::string& lineIteration, const std::string& phase,
                           const std::string& stop, bool hasWolfeConditions = true);

constexpr const char* gradientVanished = "The gradient magnitude has (nearly) vanished.";

}
