#include "Components/Registrations/MultiResolutionRegistrationWithFeatures.h"

namespace tessera {

const ComponentDescription& MultiResolutionRegistrationWithFeatures::description()
{
  static const ComponentDescription description{
      "Registration", "MultiResolutionRegistrationWithFeatures",
      "One metric that sees several images of each side, each with a pyramid of its own, coarse to fine."};
  return description;
}

}
