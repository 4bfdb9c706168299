#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Registration/Metric.h"

namespace tessera {

/// Mean of squared intensity differences: mean (moving - fixed)^2. (UseNormalization "true") multiplies it by
/// 100 / d^2, where d is the largest difference that the two images can have.
///
/// With an (OutlierDifference S) a sample counts with d^2 / (1 + d^2 / S^2) in place of d^2, where d = moving
/// - fixed: like the square where d is small, and never more than S^2 (Geman and McClure, "Statistical
/// methods for tomographic image reconstruction", 1987). So samples that have no counterpart in the other
/// image, and those that leave the moving image, change the value by little.
class AdvancedMeanSquares {
public:
  struct Sums {
    double squares = 0;

    TESSERA_HOST_DEVICE void add(const Sums& other) { squares += other.squares; }
  };

  struct Table {
    double value = 0, weight = 0; // slope = weight (m - f) / (1 + (m - f)^2 / S^2)^2
  };

  AdvancedMeanSquares(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();
  std::unique_ptr<MetricOnCuda> onCuda(const Context&) const;

  Sums zeroSums() const { return {}; }
  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float fixed, float moving) const
  {
    const double difference = static_cast<double>(moving) - fixed, ratio = difference * inverseOutlier_;
    sums.squares += difference * difference / (1 + ratio * ratio);
  }
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t valid) const
  {
    const double factor = valid == 0 ? 0 : normalization_ / static_cast<double>(valid);
    return {factor * sums.squares, 2 * factor};
  }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  TESSERA_HOST_DEVICE float slope(const Table& table, float fixed, float moving) const
  {
    const double difference = static_cast<double>(moving) - fixed, ratio = difference * inverseOutlier_,
                 excess = 1 + ratio * ratio;
    return static_cast<float>(table.weight * difference / (excess * excess));
  }

private:
  double normalization_ = 1, inverseOutlier_ = 0; // 1 / S, or 0 without outliers
};

}
