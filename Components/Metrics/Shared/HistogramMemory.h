#pragma once

#include "Components/Metrics/Shared/ParzenWindows.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>

namespace tessera {

/// The lengths of HistogramOnCuda's arrays, in elements.
struct HistogramMemory {
  static constexpr std::size_t doublesOfTerms = 2; // sums of entropies of one block
  /// Blocks of each step from counts to table if there are many bins.
  static constexpr unsigned finishBlocks = 64;

  std::size_t counts, scratch, table;
  /// Whether the bins of fixed intensities are kept from call to call, one a sample, which needs windows of
  /// order 0.
  bool keeps;
  bool wide; // whether a kept bin takes two bytes

  explicit HistogramMemory(const ParzenWindows& windows)
      : counts(bins(windows) + 1),
        scratch(bins(windows) + windows.fixed.bins + windows.moving.bins + doublesOfTerms * finishBlocks),
        table(bins(windows)), keeps(windows.fixed.order == 0),
        wide(windows.fixed.bins > 255) // in a byte, 255 stands for no bin
  {
  }

  static std::size_t bins(const ParzenWindows& windows)
  {
    return static_cast<std::size_t>(windows.fixed.bins) * windows.moving.bins;
  }
  bool keepsBinsOf(std::size_t samples) const { return keeps && samples > IntensityPairs::maxRecorded; }
  /// The number of 4-byte words that hold the bins of `samples` samples.
  std::size_t keptWords(std::size_t samples) const { return (wide ? 2 : 1) * ((samples + 3) / 4); }

  double bytes(std::size_t samples, bool fixedStays) const
  {
    const std::size_t words = fixedStays && keepsBinsOf(samples) ? keptWords(samples) : 0;
    return static_cast<double>(counts * sizeof(unsigned long long) + scratch * sizeof(double)
                               + table * sizeof(float) + words * sizeof(std::uint32_t));
  }
};

}
