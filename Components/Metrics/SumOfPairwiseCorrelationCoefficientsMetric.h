#pragma once

#include "Components/Metrics/Shared/Series/CorrelationTerm.h"

namespace tessera {

/// 1 - |K|_F / G, with K the correlation matrix of the G times of a series and |K|_F the root of the sum of
/// its squared entries, which is that of its squared eigenvalues.
template <int D>
class SumOfPairwiseCorrelationCoefficientsMetric final : public CorrelationTerm<D> {
public:
  explicit SumOfPairwiseCorrelationCoefficientsMetric(const Parameters& parameters)
      : CorrelationTerm<D>(parameters, description().name)
  {
  }
  static const ComponentDescription& description();

private:
  double valueOf(std::span<const double> eigenvalues, std::span<double> slopes) const override;
};

}
