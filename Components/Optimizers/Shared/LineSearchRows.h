#pragma once

#include "Components/Optimizers/Shared/MoreThuenteLineSearch.h"
#include "Core/Registration/Optimizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// What the optimizers that search along lines share: their parameters, and their rows of the iteration table.

/// A number that is not negative, one a level.
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

/// A row under these columns. `gradientNorm` is that at the state's point.
IterationRow lineSearchRow(std::size_t row, const LineSearchState&, double gradientNorm, double directionNorm,
                           std::size_t direction, const std::string& lineIteration, const std::string& phase,
                           const std::string& stop);

constexpr const char* gradientVanished = "The gradient magnitude has (nearly) vanished.";

}
