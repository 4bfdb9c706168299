#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Components/Metrics/Shared/EntropyTerms.h"
#include "Components/Metrics/Shared/HistogramMemory.h"
#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {

NormalizedMutualInformation::NormalizedMutualInformation(const Parameters& parameters, std::size_t level,
                                                         const LevelFacts& facts)
    : histogram_(parameters, level, facts)
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

NormalizedMutualInformation::Table NormalizedMutualInformation::finish(const Sums& sums,
                                                                       std::size_t valid) const
{
  return histogram_.finish<NormalizedTerms>(sums, valid);
}

double NormalizedMutualInformation::deviceBytes(std::size_t samples, bool fixedStays) const
{
  return HistogramMemory(histogram_.windows()).bytes(samples, fixedStays);
}

}
