#pragma once

#include "Core/Registration/Registration.h"

namespace tessera {

/// Minimizes one metric, from coarse to fine.
class MultiResolutionRegistration : public Registration {
public:
  explicit MultiResolutionRegistration(const Parameters& parameters) : parameters_(parameters) {}
  static const ComponentDescription& description();

  void checkTermCount(std::size_t terms) const override;
  TermCombination combination(std::size_t, std::size_t) const override { return {{1.0}, false}; }

private:
  virtual std::string name() const { return description().name; }

  Parameters parameters_;
};

}
