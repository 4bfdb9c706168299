#pragma once

#include <cstddef>
#include <functional>

namespace tessera {

/// A function along a line: its value and derivative at `step`.
struct LinePoint {
  double step = 0, value = 0, slope = 0;
};

struct LineSearchSettings {
  double firstStep = 1;
  double valueTolerance = 1e-4, gradientTolerance = 0.9; // mu and eta of the strong Wolfe conditions
  std::size_t maximumIterations = 20;                    // evaluations of the function
};

enum class LineSearchStop {
  wolfeSatisfied,
  maximumIterations,
  stepTooSmall,
  stepTooLarge,
  intervalTooSmall,
  roundingError,
  ascentDirection
};

/// The word that elastix's iteration table has for it.
const char* nameOf(LineSearchStop);

struct LineSearchState {
  LinePoint point;           // the point evaluated last
  std::size_t iteration = 0; // counts evaluations from 0
  bool sufficientDecrease = false, curvature = false;
  LineSearchStop stop = LineSearchStop::ascentDirection; // valid once the search has ended
};

/// Searches a step that satisfies the strong Wolfe conditions (More and Thuente, "Line search algorithms with
/// guaranteed sufficient decrease", ACM TOMS 20, 1994, eq. 1.1 and 1.2; pseudo-code in the .cpp file).
/// `evaluate` is called at each trial step, and `watch` after it. In an ascent direction the search ends at
/// step 0 without an evaluation.
LineSearchState searchLine(const LineSearchSettings&, const LinePoint& start,
                           const std::function<LinePoint(double step)>& evaluate,
                           const std::function<void(const LineSearchState&)>& watch);

}
