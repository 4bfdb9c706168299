#pragma once

#include "Components/Metrics/ParzenHistogram.h"

namespace tessera {

/// Minus the normalized mutual information, -(H(fixed) + H(moving)) / H(fixed, moving), from the histogram of
/// AdvancedMattesMutualInformation. Studholme et al., "An overlap invariant entropy measure of 3D medical image alignment", 1999.
class NormalizedMutualInformation {
public:
  using Sums = ParzenHistogram::Sums;
  using Table = ParzenHistogram::Table;

  NormalizedMutualInformation(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();
  std::unique_ptr<MetricOnCuda> onCuda(const Context&) const;
  double deviceBytes(std::size_t samples, bool fixedStays) const;

  Sums zeroSums() const { return histogram_.zeroSums(); }
  void accumulate(Sums& sums, float fixed, float moving) const { histogram_.accumulate(sums, fixed, moving); }
  Table finish(const Sums&, std::size_t valid) const;
  double value(const Table& table) const { return table.value; }
  float slope(const Table& table, float fixed, float moving) const { return histogram_.slope(table, fixed, moving); }

private:
  ParzenHistogram histogram_;
};

}
