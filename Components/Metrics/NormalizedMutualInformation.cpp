#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {

NormalizedMutualInformation::NormalizedMutualInformation(const Parameters& parameters, std::size_t level,
                                                         const LevelFacts& facts)
    : EntropyMetric(parameters, level, facts)
{
}

const ComponentDescription& NormalizedMutualInformation::description()
{
  static const ComponentDescription description = [] {
    ComponentDescription d{"Metric",
                           "NormalizedMutualInformation",
                           {},
                           "-(H(F) + H(M)) / H(F, M), from a Parzen-window histogram (Studholme et al. 1999)",
                           ParzenHistogram::parameters()};
    const auto common = imageTermParameters();
    d.parameters.insert(d.parameters.end(), common.begin(), common.end());
    return d;
  }();
  return description;
}

}
