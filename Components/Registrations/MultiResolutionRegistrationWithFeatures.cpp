#include "Components/Registrations/MultiResolutionRegistrationWithFeatures.h"

namespace tessera {

const ComponentDescription& MultiResolutionRegistrationWithFeatures::description()
{
  static const ComponentDescription description{
      "Registration", "MultiResolutionRegistrationWithFeatures",
      "One metric that sees several images of each side, each with a pyramid of its own, coarse to fine."};
  return description;
}

void MultiResolutionRegistrationWithFeatures::checkTermCount(std::size_t terms) const
{
  if (terms != 1)
    parameters_.fail("Registration",
                     "MultiResolutionRegistrationWithFeatures takes one metric, but the file names "
                         + std::to_string(terms),
                     "Allowed: (Registration \"MultiMetricMultiResolutionRegistration\") for several");
}

}
