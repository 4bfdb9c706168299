#pragma once

#include "Components/Metrics/Shared/RobustLine.h"
#include "Core/Registration/Metric.h"

#include <vector>

namespace tessera {

/// One minus the squared correlation of fixed and moving intensities, with a bound for outliers: the mean of
/// r^2 / (1 + r^2 / S^2) over the variance of the fixed intensities, where r = f - (gain m + offset) are the
/// residuals of the line that makes this mean least (RobustLine). S is the `OutlierShare` times the standard
/// deviation of the fixed intensities. From 0 (a linear relation, of either sign) to 1, also for images
/// without contrast. With S beyond all residuals it is one minus the square of AdvancedNormalizedCorrelation.
///
/// So samples that have no counterpart in the other image, such as a scanner's filling, and those that leave
/// the moving image, change the value by little.
///
/// At the best line the derivative by the moving intensities is that of a line that stays:
///   d C / d m = -2 gain r / (1 + r^2 / S^2)^2 / (N variance).
class RobustNormalizedCorrelation final : public LatticeMetric {
public:
  explicit RobustNormalizedCorrelation(const Parameters&);

  static const ComponentDescription& description();

  void prepareForLevel(std::size_t level, const LevelFacts& facts) override
  {
    search_.outlierShare = outlierShares_[level];
    units_ = PairUnits(IntensityUnit(facts.fixedMin, facts.fixedMax),
                       IntensityUnit(facts.movingMin, facts.movingMax));
  }
  std::string whyNotOnCuda() const override { return ""; }
  std::unique_ptr<MetricOnCuda> onCuda(const Context&, std::size_t latticePositions = 0) const override;
  double evaluate(const Context&, const LatticeIntensities&, float* slopes) override;
  std::size_t bytesAPosition() const override { return sizeof(float); } // of every second one, both images

private:
  std::vector<double> outlierShares_; // one a level
  RobustLineSearch search_;
  PairUnits units_;
  std::vector<float> fixedOfPart_, movingOfPart_; // for the search of the line
};

}
