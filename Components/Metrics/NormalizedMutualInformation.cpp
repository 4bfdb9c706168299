#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {

const ComponentDescription& NormalizedMutualInformation::description()
{
  static const ComponentDescription description{
      "Metric", "NormalizedMutualInformation",
      "minus the normalized mutual information (NMI), (H(F) + H(M)) / H(F, M), from a Parzen-window "
      "histogram (Studholme et al. 1999)",
      joinedRows({ParzenHistogram::parameters(), imageTermParameters()})};
  return description;
}

}
