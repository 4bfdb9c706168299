#pragma once

#include "Components/Metrics/Shared/ParzenBatch.h"
#include "Core/Registration/Metric.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// Joint histogram of fixed and moving intensities, for the metrics on entropies.
///
/// Counts are fixed-point integers, so any order of summation gives the same bits.
class ParzenHistogram {
public:
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

  const ParzenWindows& windows() const { return windows_; }

  /// Parameters of the histogram, and those modes of elastix that are refused.
  static std::vector<ParameterInfo> parameters();

  Sums zeroSums() const
  {
    return {std::vector<std::int64_t>(static_cast<std::size_t>(windows_.fixed.bins) * windows_.moving.bins)};
  }
  void accumulate(Sums&, float fixed, float moving) const;
  void accumulate(Sums& sums, const float* fixed, const float* moving, std::size_t count) const
  {
    accumulatePairs(windows_, fixed, moving, count, sums.counts.data());
  }
  /// With terms of EntropyTerms.h.
  template <class Terms>
  Table finish(const Sums&, std::size_t valid) const;
  float slope(const Table&, float fixed, float moving) const;
  void slopes(const Table& table, const float* fixed, const float* moving, std::size_t count,
              float* slopes) const
  {
    slopesOfPairs(windows_, table.weights.data(), table.perSample, fixed, moving, count, slopes);
  }

private:
  Densities densities(const Sums&, std::size_t valid) const;
  /// A table of zeros for `valid` samples.
  Table emptyTable(std::size_t valid) const;
  int fixedWindow(float intensity, double* weights) const;

  ParzenWindows windows_;
};

inline int ParzenHistogram::fixedWindow(float intensity, double* weights) const
{
  double t;
  const int start = windows_.fixedStart(intensity, t);
  parzenWeights(windows_.fixed.order, t, weights);
  return start;
}

inline void ParzenHistogram::accumulate(Sums& sums, float fixed, float moving) const
{
  const ParzenAxis& axis = windows_.moving;
  double fixedWeights[4], movingWeights[4], t, unused;
  const int fixedStart = fixedWindow(fixed, fixedWeights);
  const int movingStart = windows_.movingStart(moving, t, unused);
  parzenWeights(axis.order, t, movingWeights);
  for (int f = 0; f <= windows_.fixed.order; ++f) {
    std::int64_t* row =
        sums.counts.data() + static_cast<std::size_t>(fixedStart + f) * axis.bins + movingStart;
    for (int m = 0; m <= axis.order; ++m)
      row[m] += ParzenWindows::fixedPoint(fixedWeights[f], movingWeights[m]);
  }
}

template <class Terms>
ParzenHistogram::Table ParzenHistogram::finish(const Sums& sums, std::size_t valid) const
{
  Densities p = densities(sums, valid);
  for (double& probability : p.fixed)
    probability = Terms::ofMarginal(probability);
  for (double& probability : p.moving)
    probability = Terms::ofMarginal(probability);

  Table table = emptyTable(valid);
  Terms terms;
  const std::size_t columns = p.moving.size();
  for (std::size_t row = 0; row < p.fixed.size(); ++row)
    for (std::size_t bin = row * columns; bin < (row + 1) * columns; ++bin)
      table.weights[bin] = terms.add(p.joint[bin], p.fixed[row], p.moving[bin - row * columns]);
  table.value = terms.value();
  for (std::size_t row = 0; row < p.fixed.size(); ++row)
    for (std::size_t bin = row * columns; bin < (row + 1) * columns; ++bin)
      table.weights[bin] = terms.weight(table.weights[bin], p.fixed[row], p.moving[bin - row * columns]);
  return table;
}

inline float ParzenHistogram::slope(const Table& table, float fixed, float moving) const
{
  const ParzenAxis& axis = windows_.moving;
  double fixedWeights[4], derivatives[4], t, limiterDerivative;
  const int fixedStart = fixedWindow(fixed, fixedWeights);
  const int movingStart = windows_.movingStart(moving, t, limiterDerivative);
  parzenDerivatives(axis.order, t, derivatives);
  double sum = 0;
  for (int f = 0; f <= windows_.fixed.order; ++f) {
    const double* row =
        table.weights.data() + static_cast<std::size_t>(fixedStart + f) * axis.bins + movingStart;
    double ofRow = 0;
    for (int m = 0; m <= axis.order; ++m)
      ofRow += derivatives[m] * row[m];
    sum += fixedWeights[f] * ofRow;
  }
  return static_cast<float>(sum * limiterDerivative * table.perSample);
}

}
