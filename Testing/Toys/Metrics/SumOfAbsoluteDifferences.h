#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Registration/Metric.h"

#include <cmath>

namespace tessera {

/// Sum of absolute intensity differences: sum max(0, |moving - fixed| - t), t the (IntensityTolerance).
class SumOfAbsoluteDifferences {
public:
  struct Sums {
    double differences = 0;

    TESSERA_HOST_DEVICE void add(const Sums& other) { differences += other.differences; }
  };

  struct Table {
    double value = 0;
  };

  SumOfAbsoluteDifferences(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();

  Sums zeroSums() const { return {}; }
  /// Pass 1: what a pair of intensities adds.
  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float fixed, float moving) const
  {
    const double beyond = std::abs(static_cast<double>(moving) - fixed) - tolerance_;
    sums.differences += beyond > 0 ? beyond : 0;
  }
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t) const { return {sums.differences}; }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  /// Pass 2: d value / d moving intensity.
  TESSERA_HOST_DEVICE float slope(const Table&, float fixed, float moving) const
  {
    const double difference = static_cast<double>(moving) - fixed;
    if (std::abs(difference) <= tolerance_)
      return 0;
    return difference > 0 ? 1.0f : -1.0f;
  }

  // The CUDA form. A metric without this function and without the .cu file runs on the CPU alone.
  std::unique_ptr<MetricOnCuda> onCuda(const Context&) const;

private:
  double tolerance_;
};

}
