#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

namespace tessera {

// Entropies of a joint histogram, summed bin by bin. `ofMarginal` prepares a marginal probability for the
// other functions. `add` adds a bin to the sums and returns a number that the caller keeps for this bin. When
// all bins are added, `weight` makes of that number the derivative of the value with respect to the bin's
// probability. Constants that are the same for all bins are left out: the windows' derivatives sum to zero,
// so they cancel.

/// value = -sum p ln(p / (p_f p_m))
struct MutualInformationTerms {
  double sum = 0;

  TESSERA_HOST_DEVICE static double ofMarginal(double probability) { return probability; }
  TESSERA_HOST_DEVICE double add(double joint, double fixed, double moving)
  {
    constexpr double nothing = 1e-16;
    const double product = fixed * moving;
    if (!(joint > nothing && product > nothing))
      return 0;
    const double minusLogRatio = -std::log(joint / product);
    sum += joint * minusLogRatio;
    return minusLogRatio;
  }
  TESSERA_HOST_DEVICE void add(const MutualInformationTerms& others) { sum += others.sum; }
  TESSERA_HOST_DEVICE double value() const { return sum; }
  TESSERA_HOST_DEVICE double weight(double minusLogRatio, double /*fixed*/, double /*moving*/) const
  {
    return minusLogRatio;
  }
};

/// value = -N / J with N = H(F) + H(M) and J = H(F, M); d value / dp = (ln p_f + ln p_m - (N / J) ln p) / J.
struct NormalizedTerms {
  double marginalEntropies = 0, jointEntropy = 0;

  TESSERA_HOST_DEVICE static double ofMarginal(double probability)
  {
    return probability > 1e-16 ? std::log(probability) : 0;
  }
  TESSERA_HOST_DEVICE double add(double joint, double logFixed, double logMoving)
  {
    const double logJoint = ofMarginal(joint);
    marginalEntropies -= joint * (logFixed + logMoving);
    jointEntropy -= joint * logJoint;
    return logJoint;
  }
  TESSERA_HOST_DEVICE void add(const NormalizedTerms& others)
  {
    marginalEntropies += others.marginalEntropies;
    jointEntropy += others.jointEntropy;
  }
  /// True if all samples are in one bin: both images are constant.
  TESSERA_HOST_DEVICE bool constant() const { return !(jointEntropy > 1e-14); }
  TESSERA_HOST_DEVICE double value() const { return constant() ? 0 : -marginalEntropies / jointEntropy; }
  TESSERA_HOST_DEVICE double weight(double logJoint, double logFixed, double logMoving) const
  {
    return constant() ? 0 : (logFixed + logMoving + value() * logJoint) / jointEntropy;
  }
};

}
