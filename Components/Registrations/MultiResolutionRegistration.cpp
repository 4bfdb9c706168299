#include "Components/Registrations/MultiResolutionRegistration.h"

namespace tessera {

const ComponentDescription& MultiResolutionRegistration::description()
{
  static const ComponentDescription description{"Registration", "MultiResolutionRegistration",
                                                "One metric, coarse to fine."};
  return description;
}

void MultiResolutionRegistration::checkTermCount(std::size_t terms) const
{
  if (terms != 1)
    parameters_.fail("Registration",
                     name() + " takes one metric, but the file names " + std::to_string(terms),
                     "Allowed: (Registration \"MultiMetricMultiResolutionRegistration\") for several");
}

}
