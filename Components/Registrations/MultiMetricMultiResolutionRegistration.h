#pragma once

#include "Core/Registration/Registration.h"

namespace tessera {

/// Minimizes a weighted sum of metrics, from coarse to fine: value = sum_i w_i value_i.
class MultiMetricMultiResolutionRegistration final : public Registration {
public:
  explicit MultiMetricMultiResolutionRegistration(const Parameters& parameters) : parameters_(parameters) {}
  static const ComponentDescription& description();

  void checkTermCount(std::size_t terms) const override;
  /// Metric<i>Weight (default 1 / terms), or Metric<i>RelativeWeight with UseRelativeWeights; 0 if
  /// Metric<i>Use is false.
  TermCombination combination(std::size_t level, std::size_t terms) const override;

private:
  Parameters parameters_;
};

}
