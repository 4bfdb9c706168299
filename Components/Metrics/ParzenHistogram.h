#pragma once

#include "Core/Compute/BSplineKernel.h"
#include "Core/Registration/Metric.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {

/// Bins of one intensity axis, with a B-spline Parzen window of order 0 to 3 (Mattes et al., "PET-CT image registration in the
/// chest using free-form deformations", 2003, eq. 6; padding and bin size as elastix has them).
struct ParzenAxis {
  int bins = 32, order = 0;
  double binSize = 1, normalizedMin = 0;

  /// First of the order + 1 bins that an intensity touches; `t` is its distance from that bin, as bsplineWeights takes it.
  int window(double intensity, double& t) const
  {
    const double term = intensity / binSize - normalizedMin;
    const double start = std::floor(term + (0.5 - order / 2.0));
    t = term - start;
    if (start >= 0 && start <= bins - 1 - order)
      return static_cast<int>(start);
    t = order / 2.0; // an image of one intensity, whose bins are smaller than its rounding
    return start < 0 ? 0 : bins - 1 - order;
  }
};

/// Leaves what lies between the thresholds and bends what lies beyond towards the bounds: elastix's exponential limiter.
struct SoftLimiter {
  double lowerThreshold = 0, upperThreshold = 1, lowerBound = 0, upperBound = 1;

  /// `derivative`: d result / d intensity.
  double operator()(double intensity, double& derivative) const
  {
    derivative = 1;
    if (intensity - upperThreshold > 1e-10)
      return bend(intensity - upperThreshold, upperThreshold - upperBound, upperBound, derivative);
    if (intensity - lowerThreshold < -1e-10)
      return bend(intensity - lowerThreshold, lowerThreshold - lowerBound, lowerBound, derivative);
    return intensity;
  }

private:
  static double bend(double beyond, double room, double bound, double& derivative)
  {
    if (std::abs(room) <= 1e-10) { // no room: a hard limit
      derivative = 0;
      return bound;
    }
    derivative = std::exp(beyond / room);
    return room * derivative + bound;
  }
};

/// Joint histogram of fixed and moving intensities, for the metrics on entropies.
///
/// Counts are fixed-point integers, so any order of summation gives the same bits.
class ParzenHistogram {
public:
  static constexpr double countScale = 4294967296.0; // 2^32: 2^31 samples fit in one bin

  struct Sums {
    std::vector<std::int64_t> counts; // fixed bin * moving bins + moving bin

    void add(const Sums& other)
    {
      for (std::size_t bin = 0; bin < counts.size(); ++bin)
        counts[bin] += other.counts[bin];
    }
  };

  /// Probabilities.
  struct Densities {
    std::vector<double> joint, fixed, moving;
  };

  /// The value, and per joint bin d value / d probability, for slopes.
  struct Table {
    double value = 0;
    std::vector<double> weights;
    double perSample = 0; // 1 / (valid * moving bin size)
  };

  ParzenHistogram(const Parameters&, std::size_t level, const LevelFacts&);

  /// Parameters of the histogram, and those modes of elastix that are refused.
  static std::vector<ParameterInfo> parameters();

  Sums zeroSums() const { return {std::vector<std::int64_t>(static_cast<std::size_t>(fixed_.bins) * moving_.bins)}; }
  void accumulate(Sums&, float fixed, float moving) const;
  Densities densities(const Sums&, std::size_t valid) const;
  /// A table of zeros for `valid` samples.
  Table emptyTable(std::size_t valid) const;
  float slope(const Table&, float fixed, float moving) const;

private:
  int fixedWindow(float intensity, double* weights) const;

  ParzenAxis fixed_, moving_;
  double fixedLowerBound_ = 0, fixedUpperBound_ = 0;
  SoftLimiter movingLimiter_;
};

/// Weights of the order + 1 bins of a window.
inline void parzenWeights(int order, double t, double* weights)
{
  switch (order) {
  case 0:
    weights[0] = 1;
    return;
  case 1:
    return bsplineWeights<1>(t, weights);
  case 2:
    return bsplineWeights<2>(t, weights);
  default:
    return bsplineWeights<3>(t, weights);
  }
}

/// Their derivatives. Order 0 has none; like elastix we take that of order 1, a kind of finite difference.
inline void parzenDerivatives(int order, double t, double* derivatives)
{
  switch (order) {
  case 0:
    derivatives[0] = t > 0 ? -1 : t < 0 ? 1 : 0;
    return;
  case 1:
    return bsplineDerivatives<1>(t, derivatives);
  case 2:
    return bsplineDerivatives<2>(t, derivatives);
  default:
    return bsplineDerivatives<3>(t, derivatives);
  }
}

inline int ParzenHistogram::fixedWindow(float intensity, double* weights) const
{
  const double limited = std::min(std::max<double>(intensity, fixedLowerBound_), fixedUpperBound_);
  double t;
  const int start = fixed_.window(limited, t);
  parzenWeights(fixed_.order, t, weights);
  return start;
}

inline void ParzenHistogram::accumulate(Sums& sums, float fixed, float moving) const
{
  double fixedWeights[4], movingWeights[4], t, unused;
  const int fixedStart = fixedWindow(fixed, fixedWeights);
  const int movingStart = moving_.window(movingLimiter_(moving, unused), t);
  parzenWeights(moving_.order, t, movingWeights);
  for (int f = 0; f <= fixed_.order; ++f) {
    std::int64_t* row = sums.counts.data() + static_cast<std::size_t>(fixedStart + f) * moving_.bins + movingStart;
    const double scale = fixedWeights[f] * countScale;
    for (int m = 0; m <= moving_.order; ++m)
      row[m] += static_cast<std::int64_t>(scale * movingWeights[m] + 0.5);
  }
}

inline float ParzenHistogram::slope(const Table& table, float fixed, float moving) const
{
  double fixedWeights[4], derivatives[4], t, limiterDerivative;
  const int fixedStart = fixedWindow(fixed, fixedWeights);
  const int movingStart = moving_.window(movingLimiter_(moving, limiterDerivative), t);
  parzenDerivatives(moving_.order, t, derivatives);
  double sum = 0;
  for (int f = 0; f <= fixed_.order; ++f) {
    const double* row = table.weights.data() + static_cast<std::size_t>(fixedStart + f) * moving_.bins + movingStart;
    double ofRow = 0;
    for (int m = 0; m <= moving_.order; ++m)
      ofRow += derivatives[m] * row[m];
    sum += fixedWeights[f] * ofRow;
  }
  return static_cast<float>(sum * limiterDerivative * table.perSample);
}

}
