#pragma once

#include "Components/Metrics/Shared/Histograms/EntropyMetric.h"

namespace tessera {

/// Minus the mutual information of fixed and moving intensities, from a joint histogram with B-spline Parzen
/// windows: -sum p ln(p / (p_fixed p_moving)). Mattes et al. 2003; Thevenaz and Unser, "Optimization of
/// mutual information for multiresolution image registration", 2000.
class AdvancedMattesMutualInformation final : public EntropyMetric<MutualInformationTerms> {
public:
  AdvancedMattesMutualInformation(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();
};

}
