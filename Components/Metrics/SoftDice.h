#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Registration/Metric.h"

namespace tessera {

/// 1 minus the Dice overlap of two images of one label V on a background of 0 (Dice 1945), in which a sample
/// belongs to the label by the share of its intensity in V (Drozdzal et al. 2016):
/// 1 - 2 sum(f m) / (V (sum f + sum m)). On intensities of 0 and V alone this is the value of elastix's
/// AdvancedKappaStatistic. That metric counts whole samples, so its value has no derivative; here
/// interpolated intensities count in part, and the slopes are those of the value.
class SoftDice {
public:
  struct Sums {
    double products = 0, intensities = 0; // f m; f + m

    TESSERA_HOST_DEVICE void add(const Sums& other)
    {
      products += other.products;
      intensities += other.intensities;
    }
  };

  struct Table {
    double value = 1, weight = 0, balance = 0; // slope = weight (balance - f)
  };

  /// Throws Error(usage) if the level's intensities are not those of one label on a background of 0.
  SoftDice(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();
  std::unique_ptr<MetricOnCuda> onCuda(const Context&) const;

  Sums zeroSums() const { return {}; }
  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float fixed, float moving) const
  {
    const double f = fixed, m = moving;
    sums.products += f * m;
    sums.intensities += f + m;
  }
  /// Without any foreground nothing overlaps: the value is 1 and has no slope.
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t) const
  {
    if (!(sums.intensities > 0))
      return {};
    const double weight = 2 / (foregroundValue_ * sums.intensities);
    return {1 - weight * sums.products, weight, sums.products / sums.intensities};
  }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  TESSERA_HOST_DEVICE float slope(const Table& table, float fixed, float) const
  {
    return static_cast<float>(table.weight * (table.balance - fixed));
  }

private:
  double foregroundValue_;
};

}
