#pragma once

#include "Core/Parameters/Parameters.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// Tells when a level gains too little to go on. A straight line is fitted, by least squares, to the values
/// of the last `window` iterations. Its fall is what the window gained; the level's gain is the fall from the
/// start of the line through the first window to the end of the line through the last one. The level has
/// converged when the window gained at most `threshold` times the level's gain. A line serves values that
/// fall smoothly and values over random samples alike; the latter need a wider window.
class Convergence {
public:
  /// Reads ConvergenceWindow and ConvergenceThreshold. Without a window it never converges.
  Convergence(const Parameters&, std::size_t level);
  static std::vector<ParameterInfo> parameters();

  /// The value of the next iteration.
  void add(double value);
  bool isReached() const { return isReached_; }
  /// Why the level ended, for log and summary; only if isReached().
  std::string stopCondition() const;

private:
  std::size_t window_;
  double threshold_;
  std::vector<double> values_; // the last ones, at most window_; the oldest is at `oldest_`
  std::size_t oldest_ = 0;
  double firstValue_ = 0; // where the first window's line begins
  double gainOfWindow_ = 0, gainOfLevel_ = 0;
  bool hasFirst_ = false, isReached_ = false;
};

}
