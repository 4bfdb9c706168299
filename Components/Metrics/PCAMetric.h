#pragma once

#include "Components/Metrics/Shared/Series/CorrelationTerm.h"

namespace tessera {

/// G less the sum of the NumEigenValues largest eigenvalues of the correlation matrix of the G times of a
/// series (Huizinga et al., "PCA-based groupwise image registration for quantitative MRI", 2016, eq. 8).
template <int D>
class PCAMetric final : public CorrelationTerm<D> {
public:
  explicit PCAMetric(const Parameters& parameters) : CorrelationTerm<D>(parameters, description().name) {}
  static const ComponentDescription& description();

  void checkImages(const ImageGeometry<D>& fixed, const ImageGeometry<D>& moving) override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;

private:
  double valueOf(std::span<const double> eigenvalues, std::span<double> slopes) const override;

  std::size_t largest_ = 0; // how many eigenvalues count at this level
};

}
