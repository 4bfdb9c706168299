#pragma once

#include "Components/Registrations/MultiResolutionRegistration.h"

namespace tessera {

/// Minimizes one metric that sees several images of each side, the features, from coarse to fine. Image i
/// (-f0, -f1, ..., -m0, -m1, ...) has image pyramid i of its side; samples and masks are those of the first
/// images.
class MultiResolutionRegistrationWithFeatures final : public MultiResolutionRegistration {
public:
  using MultiResolutionRegistration::MultiResolutionRegistration;
  static const ComponentDescription& description();

  bool takesFeatures() const override { return true; }

private:
  std::string name() const override { return description().name; }
};

}
