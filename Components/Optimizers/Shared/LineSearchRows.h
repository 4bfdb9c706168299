#pragma once

#include "Components/Optimizers/Shared/DescentSupport.h"
#include "Components/Optimizers/Shared/MoreThuenteLineSearch.h"
#include "Core/Compute/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// The optimizers with a line search share these parameters, these rows of the iteration table, and the state
// of a level.

/// A parameter with one number a level, none of them negative.
Parameter<double> notNegative(const char* parameter, double defaultValue, const char* meaning);

struct LineSearchParameters {
  Parameter<std::int64_t> directions, iterations;
  Parameter<double> stepLength, valueTolerance, gradientTolerance, gradientMagnitude;
  Parameter<bool> stopIfWolfe, rows;
};
const LineSearchParameters& lineSearchParameters();

/// The settings of a line search that the parameters give for one level.
struct LineSearchLevel {
  std::int64_t iterations = 0;
  double gradientMagnitudeTolerance = 0;
  bool stopIfWolfeNotSatisfied = true, rowsOfLineSearch = false;
  LineSearchSettings line;

  /// Throws Error(usage) if no step could satisfy both Wolfe conditions.
  void read(const Parameters&, std::size_t level);
};

std::vector<std::string> lineSearchColumns();

/// A level of an optimizer that searches along directions.
class LineSearchRun {
protected:
  /// The first four vectors are the gradient, the direction, and the point and the gradient of a search.
  /// Without Wolfe conditions their columns have a dash.
  LineSearchRun(CostFunction&, const LineSearchLevel&, std::size_t level, Buffer<double>& position,
                const IterationSink&, std::vector<Buffer<double>>& vectors, bool hasWolfeConditions);

  bool isLastIteration() const
  {
    return report_.iterations >= static_cast<std::size_t>(settings_.iterations);
  }
  /// Writes position_ + step direction_ to trial_.
  void moveAlong(double step);
  /// The cost there.
  double evaluateAt(double step, std::span<double> gradient);
  /// Called in a handler: a cost that fails during a search ends the level at position_. Any other error is
  /// thrown again.
  void endAfter(const Error&, const std::string& advice);

  void lineRow(const LineSearchState&, const std::string& lineIteration, const Buffer<double>& gradient);
  /// Adds a row to the iteration table. `gradientNorm` is the norm of the gradient at the state's point.
  void row(const LineSearchState&, const std::string& lineIteration, const std::string& phase,
           const std::string& stop, double gradientNorm);

  CostFunction& cost_;
  const Context& context_;
  std::size_t level_;
  Buffer<double>& position_;
  Buffer<double>&gradient_, &direction_, &trial_, &trialGradient_;
  LineSearchState line_;
  double directionNorm_ = 0;
  OptimizerReport report_;

private:
  const LineSearchLevel& settings_;
  const IterationSink& sink_;
  bool hasWolfeConditions_;
  std::size_t rowCount_ = 0;
};

constexpr const char* gradientVanished = "The gradient magnitude has (nearly) vanished.";

}
