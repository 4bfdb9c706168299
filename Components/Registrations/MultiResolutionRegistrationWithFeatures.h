#pragma once

#include "Core/Registration/Registration.h"

namespace tessera {

/// Minimizes one metric that sees several images of each side, the features, from coarse to fine. Image i
/// (-f0, -f1, ..., -m0, -m1, ...) has image pyramid i of its side; samples and masks are those of the first
/// images.
class MultiResolutionRegistrationWithFeatures final : public Registration {
public:
  explicit MultiResolutionRegistrationWithFeatures(const Parameters& parameters) : parameters_(parameters) {}
  static const ComponentDescription& description();

  void checkTermCount(std::size_t terms) const override;
  TermCombination combination(std::size_t, std::size_t) const override { return {{1.0}, false}; }
  bool takesFeatures() const override { return true; }

private:
  Parameters parameters_;
};

}
