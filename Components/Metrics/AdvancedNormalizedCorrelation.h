#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Registration/Metric.h"

#include <cmath>

namespace tessera {

/// Minus the correlation coefficient of fixed and moving intensities: -s_fm / sqrt(s_ff s_mm), where s are
/// sums of products of intensities less their means. (SubtractMean "false") leaves the means in.
class AdvancedNormalizedCorrelation {
public:
  struct Sums {
    double f = 0, m = 0, ff = 0, mm = 0, fm = 0;

    TESSERA_HOST_DEVICE void add(const Sums& other)
    {
      f += other.f;
      m += other.m;
      ff += other.ff;
      mm += other.mm;
      fm += other.fm;
    }
  };

  /// slope = (f - fixedMean - ratio (m - movingMean)) factor
  struct Table {
    double value = 0, fixedMean = 0, movingMean = 0, ratio = 0, factor = 0;
  };

  AdvancedNormalizedCorrelation(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();
  std::unique_ptr<MetricOnCuda> onCuda(const Context&) const;

  Sums zeroSums() const { return {}; }
  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float fixed, float moving) const
  {
    const double f = fixed, m = moving;
    sums.f += f;
    sums.m += m;
    sums.ff += f * f;
    sums.mm += m * m;
    sums.fm += f * m;
  }
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t valid) const
  {
    Table table;
    double ff = sums.ff, mm = sums.mm, fm = sums.fm;
    if (subtractMean_ && valid > 0) {
      table.fixedMean = sums.f / static_cast<double>(valid);
      table.movingMean = sums.m / static_cast<double>(valid);
      ff -= sums.f * table.fixedMean;
      mm -= sums.m * table.movingMean;
      fm -= sums.f * table.movingMean;
    }
    const double denominator = std::sqrt(ff * mm);
    if (!(denominator > 1e-14)) // an image without contrast has the value 0 and no slope
      return table;
    table.value = -fm / denominator;
    table.ratio = fm / mm;
    table.factor = -1 / denominator;
    return table;
  }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  TESSERA_HOST_DEVICE float slope(const Table& t, float fixed, float moving) const
  {
    return static_cast<float>((fixed - t.fixedMean - t.ratio * (moving - t.movingMean)) * t.factor);
  }

private:
  bool subtractMean_;
};

}
