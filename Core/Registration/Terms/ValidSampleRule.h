#pragma once

#include "Core/Parameters/Parameters.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// When a term gives up because too few of its samples count.
class ValidSampleRule {
public:
  /// Reads CheckNumberOfSamples and RequiredRatioOfValidSamples of every level.
  explicit ValidSampleRule(const Parameters&);

  /// Throws Error(registrationFailed) if no sample was asked or is valid, or fewer than the required share of
  /// them.
  void check(std::size_t level, std::size_t valid, std::size_t asked) const;

  static std::vector<ParameterInfo> parameters();

private:
  std::string label_;
  std::vector<double> requiredRatio_; // one a level; 0: one valid sample is enough
};

}
