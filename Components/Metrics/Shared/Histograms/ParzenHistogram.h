#pragma once

#include "Components/Metrics/Shared/Histograms/ParzenBatch.h"
#include "Core/Registration/Metric.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// The joint histogram of fixed and moving intensities for the metrics on entropies (Mattes et al. 2003, eq.
/// 6). With f_i and m_i the intensities of valid sample i, in bins of their axes, and beta_f, beta_m the
/// windows:
///
///   p(k, l) = 1/n sum over i of beta_f(k - f_i) beta_m(l - m_i)
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

  /// The probabilities of the bins of the joint histogram and of both marginals.
  struct Densities {
    std::vector<double> joint, fixed, moving;
  };

  /// The value, and the derivatives of the value by the probability of each joint bin, from which slopes
  /// follow.
  struct Table {
    double value = 0;
    std::vector<double> weights;
    double perSample = 0; // 1 / (valid * moving bin size)
  };

  ParzenHistogram(const Parameters&, std::size_t level, const LevelFacts&);

  const ParzenWindows& windows() const { return windows_; }

  /// The parameters of the histogram, and the modes of elastix that are refused.
  static std::vector<ParameterInfo> parameters();

  Sums zeroSums() const
  {
    return {std::vector<std::int64_t>(static_cast<std::size_t>(windows_.fixed.bins) * windows_.moving.bins)};
  }
  void accumulate(Sums& sums, float fixed, float moving) const { accumulate(sums, &fixed, &moving, 1); }
  void accumulate(Sums& sums, const float* fixed, const float* moving, std::size_t count) const
  {
    accumulatePairs(windows_, fixed, moving, count, sums.counts.data());
  }
  /// `Terms` are those of EntropyTerms.h.
  template <class Terms>
  Table finish(const Sums&, std::size_t valid) const;
  float slope(const Table& table, float fixed, float moving) const
  {
    float slope;
    slopes(table, &fixed, &moving, 1, &slope);
    return slope;
  }
  void slopes(const Table& table, const float* fixed, const float* moving, std::size_t count,
              float* slopes) const
  {
    slopesOfPairs(windows_, table.weights.data(), table.perSample, fixed, moving, count, slopes);
  }

private:
  Densities densities(const Sums&, std::size_t valid) const;
  /// A table of zeros for `valid` samples.
  Table emptyTable(std::size_t valid) const
  {
    Table table;
    table.weights.resize(static_cast<std::size_t>(windows_.fixed.bins) * windows_.moving.bins);
    table.perSample = valid == 0 ? 0 : 1 / (static_cast<double>(valid) * windows_.moving.binSize);
    return table;
  }

  ParzenWindows windows_;
};

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

}
