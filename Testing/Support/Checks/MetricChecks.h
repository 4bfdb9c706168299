#pragma once

// Checks of metric formulas on arrays of intensities.

#include "Core/Registration/Metric.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {

using Intensities = std::vector<float>;

struct EvaluatedMetric {
  double value = 0;
  Intensities slopes;
};

/// Value and slopes of a formula at level 0; `stripes` accumulators share the samples in order.
template <class Formula>
EvaluatedMetric evaluateMetric(const std::string& parameterText, const LevelFacts& facts,
                               const Intensities& fixed, const Intensities& moving, std::size_t stripes = 1)
{
  MetricOf<Formula> metric(parametersOf(parameterText, 3, 1, "Metric0"));
  metric.prepareForLevel(0, facts);
  metric.begin(stripes);
  const std::size_t share = (fixed.size() + stripes - 1) / stripes;
  for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
    const std::size_t first = std::min(stripe * share, fixed.size()),
                      last = std::min(first + share, fixed.size());
    metric.accumulate(stripe, fixed.data() + first, moving.data() + first, last - first);
  }
  EvaluatedMetric result{metric.finish(fixed.size()), Intensities(fixed.size())};
  metric.slopes(fixed.data(), moving.data(), fixed.size(), result.slopes.data());
  return result;
}

inline Intensities randomIntensities(std::size_t count, std::uint64_t seed, double low = 0, double high = 100)
{
  const std::vector<double> values = checks::randomVector(count, seed, low, high);
  return Intensities(values.begin(), values.end());
}

/// Intensities that depend on others, so that metrics have something to find.
inline Intensities relatedIntensities(const Intensities& fixed, std::uint64_t seed)
{
  Intensities moving = randomIntensities(fixed.size(), seed, 0, 40);
  for (std::size_t i = 0; i < fixed.size(); ++i)
    moving[i] += 0.6f * (100 - fixed[i]);
  return moving;
}

/// Each slope against central differences of the value; `tolerance` is a share of the largest slope.
template <class Formula>
void expectSlopesMatchFiniteDifferences(const std::string& parameterText, const LevelFacts& facts,
                                        const Intensities& fixed, const Intensities& moving, float step,
                                        double tolerance)
{
  const Intensities slopes = evaluateMetric<Formula>(parameterText, facts, fixed, moving).slopes;
  const double largest = largestMagnitude(slopes);
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < moving.size(); ++i) {
    Intensities above = moving, below = moving;
    above[i] += step;
    below[i] -= step;
    const double distance = static_cast<double>(above[i]) - below[i]; // as rounded to float
    const double difference = evaluateMetric<Formula>(parameterText, facts, fixed, above).value
                              - evaluateMetric<Formula>(parameterText, facts, fixed, below).value;
    EXPECT_NEAR(slopes[i], difference / distance, tolerance * largest) << parameterText << ", sample " << i;
  }
}

}
