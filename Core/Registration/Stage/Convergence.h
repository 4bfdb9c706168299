#pragma once

#include "Core/Parameters/Parameters.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// Tells when a level gains too little to go on. A straight line is fitted, by least squares, to the values
/// of the last `window` iterations. Its fall is what the window gained; the level's gain is the fall from the
/// start of the line through the first window to the end of the line through the last one. The level has
/// converged when the window gained at most `threshold` times the level's gain, and the standard error of the
/// window's gain is no larger than that.
///
/// Values over random samples have a larger error: whether a window of them gains is a matter of chance. They
/// have converged when a line through the last `windowsOfNoise` windows falls by no more than its own
/// standard error.
class Convergence {
public:
  static constexpr std::size_t windowsOfNoise = 10;

  /// Reads ConvergenceWindow and ConvergenceThreshold. Without a window it never converges.
  Convergence(const Parameters&, std::size_t level);
  static std::vector<ParameterInfo> parameters();
  /// Throws Error(usage) if a value of any level has no meaning; warns of a window that never ends its level.
  static void check(const Parameters&);
  /// For a stage with random samplers: warns of windows that new samples may end by chance.
  static void warnOfShortWindows(const Parameters&);

  /// The value of the next iteration.
  void add(double value);
  bool isReached() const { return isReached_; }
  /// Why the level ended, for log and summary; only if isReached().
  std::string stopCondition() const;

private:
  struct Line {
    double begin = 0, end = 0;
    double standardError = 0; // of begin - end
    double gain() const { return begin - end; }
  };
  Line lineThroughLast(std::size_t count) const;

  std::size_t window_;
  double threshold_;
  std::vector<double> values_; // the last ones, at most those of windowsOfNoise windows
  std::size_t oldest_ = 0;     // its place in values_
  double firstValue_ = 0;      // where the first window's line begins
  double gainOfLevel_ = 0;
  Line line_;                  // that decided last
  std::size_t lineLength_ = 0; // iterations that it was fitted to
  bool hasFirst_ = false, isReached_ = false;
};

}
