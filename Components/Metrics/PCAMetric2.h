#pragma once

#include "Components/Metrics/Shared/Series/CorrelationTerm.h"

namespace tessera {

/// Sum over i of i times the i-th largest eigenvalue of the correlation matrix of the times of a series
/// (Huizinga et al., "PCA-based groupwise image registration for quantitative MRI", 2016, eq. 9).
template <int D>
class PCAMetric2 final : public CorrelationTerm<D> {
public:
  explicit PCAMetric2(const Parameters& parameters) : CorrelationTerm<D>(parameters, description().name) {}
  static const ComponentDescription& description();

private:
  double valueOf(std::span<const double> eigenvalues, std::span<double> slopes) const override;
};

}
