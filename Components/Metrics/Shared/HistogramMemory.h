#pragma once

#include "Components/Metrics/Shared/ParzenWindows.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>

namespace tessera {

/// How long the arrays of HistogramOnCuda are, in elements.
struct HistogramMemory {
  static constexpr std::size_t doublesOfTerms = 2; // of a block's sums of entropies
  static constexpr unsigned finishBlocks = 64; // of each step from counts to table, if there are many bins

  std::size_t counts, scratch, table;
  bool keeps; // bins of a fixed side that stays: windows of order 0 have one each
  bool wide;  // in two bytes

  explicit HistogramMemory(const ParzenWindows& windows)
      : counts(bins(windows) + 1),
        scratch(bins(windows) + windows.fixed.bins + windows.moving.bins + doublesOfTerms * finishBlocks),
        table(bins(windows)), keeps(windows.fixed.order == 0),
        wide(windows.fixed.bins > 255) // 255 is none of a byte's
  {
  }

  static std::size_t bins(const ParzenWindows& windows)
  {
    return static_cast<std::size_t>(windows.fixed.bins) * windows.moving.bins;
  }
  bool keepsBinsOf(std::size_t samples) const { return keeps && samples > IntensityPairs::maxRecorded; }
  /// Words of four bytes for the bins of so many samples.
  std::size_t keptWords(std::size_t samples) const { return (wide ? 2 : 1) * ((samples + 3) / 4); }

  double bytes(std::size_t samples, bool fixedStays) const
  {
    const std::size_t words = fixedStays && keepsBinsOf(samples) ? keptWords(samples) : 0;
    return static_cast<double>(counts * sizeof(unsigned long long) + scratch * sizeof(double)
                               + table * sizeof(float) + words * sizeof(std::uint32_t));
  }
};

}
