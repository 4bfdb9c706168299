#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {

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
