#pragma once

#include "Core/Registration/Metric.h"

namespace tessera {

/// Minus the correlation coefficient of fixed and moving intensities: -s_fm / sqrt(s_ff s_mm), s the sums of products of
/// intensities minus their means (or of the intensities themselves: (SubtractMean "false")).
class AdvancedNormalizedCorrelation {
public:
  struct Sums {
    double f = 0, m = 0, ff = 0, mm = 0, fm = 0;

    void add(const Sums& other)
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
  void accumulate(Sums& sums, float fixed, float moving) const
  {
    const double f = fixed, m = moving;
    sums.f += f;
    sums.m += m;
    sums.ff += f * f;
    sums.mm += m * m;
    sums.fm += f * m;
  }
  Table finish(const Sums&, std::size_t valid) const;
  double value(const Table& table) const { return table.value; }
  float slope(const Table& t, float fixed, float moving) const
  {
    return static_cast<float>((fixed - t.fixedMean - t.ratio * (moving - t.movingMean)) * t.factor);
  }

private:
  bool subtractMean_;
};

}
