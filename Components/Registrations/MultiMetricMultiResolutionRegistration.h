#pragma once

#include "Core/Registration/Registration.h"

namespace tessera {

/// A weighted sum of metrics, coarse to fine: value = sum_i w_i value_i.
class MultiMetricMultiResolutionRegistration final : public Registration {
public:
  explicit MultiMetricMultiResolutionRegistration(const Parameters& parameters) : parameters_(parameters) {}
  static const ComponentDescription& description();

  void checkTermCount(std::size_t terms) const override;
  /// Metric<i>Weight (1 / terms each by default), or Metric<i>RelativeWeight with UseRelativeWeights; 0 where
  /// Metric<i>Use is false.
  TermCombination combination(std::size_t level, std::size_t terms) const override;

private:
  Parameters parameters_;
};

}
