#pragma once

// Images for RobustNormalizedCorrelation, and its value by a search for the line that knows nothing of the
// component's.

#include "Components/Metrics/RobustNormalizedCorrelation.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/LatticeImages.h"

#include <cmath>
#include <string>

namespace tessera::testing {

/// Moving intensities on a line of the fixed ones, with noise; every ninth fixed intensity is a filling.
struct RobustCorrelationCase : LatticeImages {
  explicit RobustCorrelationCase(const std::array<std::size_t, 3>& sizeOfLattice, double missing = 0)
      : LatticeImages(
          sizeOfLattice, missing, [](std::size_t i, double a) { return i % 9 == 4 ? -400 : a; },
          [](double a, double b) { return 30 + 0.5 * a + 0.2 * b; })
  {
  }
};

inline RobustNormalizedCorrelation robustMetric(const std::string& text)
{
  RobustNormalizedCorrelation metric(parametersOf(text, 3, 1, "Metric0"));
  metric.prepareForLevel(0, {-400, 100, 30, 100});
  return metric;
}

inline LatticeResult robustResult(const std::string& text, const LatticeImages& images, int threads = 1,
                                  bool withSlopes = true)
{
  return evaluateOnCpu(robustMetric(text), images, threads, withSlopes);
}

/// The least value over gains and offsets near a known line: a grid search that shrinks around its best
/// point.
inline double naiveRobustValue(double share, const RobustCorrelationCase& images, double gain, double offset)
{
  double n = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < images.fixed.size(); ++i)
    if (!std::isnan(images.moving[i])) {
      n += 1;
      sum += images.fixed[i];
      squares += double(images.fixed[i]) * images.fixed[i];
    }
  const double variance = squares / n - sum / n * (sum / n), bound = share * share * variance;
  const auto valueAt = [&](double a, double b) {
    double loss = 0;
    for (std::size_t i = 0; i < images.fixed.size(); ++i)
      if (!std::isnan(images.moving[i])) {
        const double residual = images.fixed[i] - (a * images.moving[i] + b);
        loss += residual * residual / (1 + residual * residual / bound);
      }
    return loss / (n * variance);
  };
  double best = valueAt(gain, offset), reachGain = 0.3, reachOffset = 30;
  for (int round = 0; round < 40; ++round, reachGain *= 0.7, reachOffset *= 0.7) {
    const double middleGain = gain, middleOffset = offset;
    for (int i = -4; i <= 4; ++i)
      for (int k = -4; k <= 4; ++k) {
        // Offsets that keep the line at the middle of the moving intensities: the two depend less on each
        // other.
        const double a = middleGain + reachGain * i / 4,
                     b = middleOffset + reachOffset * k / 4 - 65 * (a - middleGain);
        if (const double value = valueAt(a, b); value < best) {
          best = value;
          gain = a;
          offset = b;
        }
      }
  }
  return best;
}

}
