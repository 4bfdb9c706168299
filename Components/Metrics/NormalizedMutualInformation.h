#pragma once

#include "Components/Metrics/Shared/Histograms/EntropyMetric.h"

namespace tessera {

/// Minus the normalized mutual information, -(H(fixed) + H(moving)) / H(fixed, moving), from the histogram of
/// AdvancedMattesMutualInformation. Studholme et al., "An overlap invariant entropy measure of 3D medical
/// image alignment", 1999.
class NormalizedMutualInformation final : public EntropyMetric<NormalizedTerms> {
public:
  using EntropyMetric::EntropyMetric;

  static const ComponentDescription& description();
};

}
