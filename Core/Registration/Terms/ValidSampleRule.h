#pragma once

#include "Core/Compute/Error.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/CostTerm.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// Too few of the samples of a level are valid. The message is the finding, followed by the usual remedies: a
/// caller who knows more replaces them.
class TooFewValidSamples : public Error {
public:
  TooFewValidSamples(const std::string& finding, const std::string& usualRemedies, bool anyIsValid)
      : Error(ExitCode::registrationFailed, finding + usualRemedies), remediesSize_(usualRemedies.size()),
        anyIsValid_(anyIsValid)
  {
  }

  /// The message without the usual remedies.
  std::string finding() const
  {
    const std::string message = what();
    return message.substr(0, message.size() - remediesSize_);
  }
  bool anyIsValid() const { return anyIsValid_; }

private:
  std::size_t remediesSize_;
  bool anyIsValid_;
};

/// The rule by which a term ends the registration because too few of its samples are valid.
class ValidSampleRule {
public:
  /// Reads CheckNumberOfSamples and RequiredRatioOfValidSamples of every level.
  explicit ValidSampleRule(const Parameters&);

  /// Throws TooFewValidSamples if none is valid or the valid share is below the required one, and
  /// Error(registrationFailed) if no sample was asked for.
  void check(std::size_t level, std::size_t valid, std::size_t asked) const;
  /// Returns the value after check() of its samples.
  TermValue checked(std::size_t level, const TermValue& value) const
  {
    check(level, value.valid, value.asked);
    return value;
  }

  static std::vector<ParameterInfo> parameters();
  /// RequiredRatioOfValidSamples of a level, whether it is checked or not.
  static double requiredShare(const Parameters&, std::size_t level);

private:
  std::string label_;
  std::vector<double> requiredRatio_; // one a level, from 0 to 1; 0: a single valid sample is enough
};

}
