#pragma once

#include "Core/Parameters/Parameters.h"
#include "Core/Registration/CostTerm.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// The rule by which a term ends the registration because too few of its samples are valid.
class ValidSampleRule {
public:
  /// Reads CheckNumberOfSamples and RequiredRatioOfValidSamples of every level.
  explicit ValidSampleRule(const Parameters&);

  /// Throws Error(registrationFailed) if no sample was asked for or is valid, or if the valid share is below
  /// the required one.
  void check(std::size_t level, std::size_t valid, std::size_t asked) const;
  /// Returns the value after check() of its samples.
  TermValue checked(std::size_t level, const TermValue&) const;

  static std::vector<ParameterInfo> parameters();
  /// RequiredRatioOfValidSamples of a level, whether it is checked or not.
  static double requiredShare(const Parameters&, std::size_t level);

private:
  std::string label_;
  std::vector<double> requiredRatio_; // one a level, from 0 to 1; 0: a single valid sample is enough
};

}
