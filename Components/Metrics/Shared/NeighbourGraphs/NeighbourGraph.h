#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

// The graphs of k nearest neighbours that KNNGraphAlphaMutualInformation has: what a sample adds to the
// value, and what a pair of samples adds to the gradient. The same functions run on the CPU and in kernels.
namespace tessera {

/// The numbers of one evaluation.
struct NeighbourGraphSettings {
  int neighbours = 20; // k
  int fixedFeatures = 1, movingFeatures = 1;
  double exponent = 1;        // gamma' = (fixedFeatures + movingFeatures) (1 - Alpha)
  double avoidDivisionBy = 0; // lengths and distances up to this one count as none

  TESSERA_HOST_DEVICE int features() const { return fixedFeatures + movingFeatures; }
};

/// The neighbours of one sample in one graph: all others nearer than the squared distance `farthest`, and
/// those exactly that far up to the sample `lastTie`. Samples at distance 0 are no neighbours.
struct Neighbourhood {
  float farthest = -1;
  std::uint32_t lastTie = 0;

  TESSERA_HOST_DEVICE bool has(float squaredDistance, std::size_t sample) const
  {
    return squaredDistance > 0
           && (squaredDistance < farthest || (squaredDistance == farthest && sample <= lastTie));
  }
};

/// The neighbours that a sample has found, and how much its edges count: d (summand) = ofMoving d (length of
/// its edges in the moving graph) + ofJoint d (that of its edges in the joint graph).
struct GraphSample {
  Neighbourhood inMoving, inJoint;
  float ofMoving = 0, ofJoint = 0;
};

/// The summand G^gamma' of a sample with edges of these lengths in the three graphs, and its derivatives:
/// G = joint / sqrt(fixed moving). It is 0 if fixed or moving have no length.
TESSERA_HOST_DEVICE inline double summandOf(const NeighbourGraphSettings& settings, double fixedLength,
                                            double movingLength, double jointLength, GraphSample& sample)
{
  sample.ofMoving = sample.ofJoint = 0;
  const double mean = std::sqrt(fixedLength * movingLength);
  if (!(mean > settings.avoidDivisionBy))
    return 0;
  const double ratio = jointLength / mean, summand = std::pow(ratio, settings.exponent),
               slope = settings.exponent * summand / jointLength;
  sample.ofJoint = static_cast<float>(slope);
  sample.ofMoving = static_cast<float>(-0.5 * slope * jointLength / movingLength);
  return summand;
}

/// The edge between samples a and b: the factor of (moving features of a - those of b) in d (sum of all
/// summands) / d (moving features of a). An edge counts once for each end that has the other as a neighbour.
TESSERA_HOST_DEVICE inline float edgeFactor(const NeighbourGraphSettings& settings, const GraphSample& a,
                                            std::size_t indexOfA, const GraphSample& b, std::size_t indexOfB,
                                            float squaredFixed, float squaredMoving)
{
  const float squaredJoint = squaredFixed + squaredMoving;
  float ofMoving = 0, ofJoint = 0;
  if (a.inMoving.has(squaredMoving, indexOfB))
    ofMoving += a.ofMoving;
  if (b.inMoving.has(squaredMoving, indexOfA))
    ofMoving += b.ofMoving;
  if (a.inJoint.has(squaredJoint, indexOfB))
    ofJoint += a.ofJoint;
  if (b.inJoint.has(squaredJoint, indexOfA))
    ofJoint += b.ofJoint;
  float factor = 0;
  const auto avoid = static_cast<float>(settings.avoidDivisionBy);
  if (ofMoving != 0) {
    const float length = std::sqrt(squaredMoving);
    factor += length > avoid ? ofMoving / length : 0.0f;
  }
  if (ofJoint != 0) {
    const float length = std::sqrt(squaredJoint);
    factor += length > avoid ? ofJoint / length : 0.0f;
  }
  return factor;
}

/// The value and its slope from the sum of all summands, as a formula of pairs of which the second is the
/// summand (SumsOnCuda): V = -ln(sum / N^alpha) / (alpha - 1).
class AlphaMutualInformation {
public:
  struct Sums {
    double sum = 0;

    TESSERA_HOST_DEVICE void add(const Sums& others) { sum += others.sum; }
  };
  struct Table {
    double value = 0, slope = 0; // slope = d value / d sum
  };

  AlphaMutualInformation(double alpha, double avoidDivisionBy)
      : alpha_(alpha), avoidDivisionBy_(avoidDivisionBy)
  {
  }

  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float, double summand) const { sums.sum += summand; }
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t valid) const
  {
    if (!(sums.sum > avoidDivisionBy_))
      return {};
    const double power = std::pow(static_cast<double>(valid), alpha_);
    return {std::log(sums.sum / power) / (1 - alpha_), 1 / ((1 - alpha_) * sums.sum)};
  }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  TESSERA_HOST_DEVICE float slope(const Table& table, float, float) const
  {
    return static_cast<float>(table.slope);
  }

private:
  double alpha_, avoidDivisionBy_;
};

}
