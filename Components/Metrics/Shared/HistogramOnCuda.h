#pragma once

#include "Components/Metrics/Shared/ParzenLookup.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>
#include <memory>

namespace tessera {

/// The bins of a call's fixed intensities in windows of order 0, one or two bytes a sample.
struct KeptFixedBins {
  const std::uint32_t* words = nullptr; // null: none are kept
  bool wide = false;                    // two bytes a sample
};

/// A joint histogram on a CUDA device, from which EntropyOnCuda makes metrics. The bins are those of
/// ParzenHistogram. What a sample adds to a bin is rounded to 2^-22 to 2^-16 of a sample if blocks count in
/// shared memory (CountingPlan), and to 2^-32 otherwise.
class HistogramOnCuda : public MetricOnCuda {
public:
  HistogramOnCuda(const Context&, const ParzenWindows&);

  void begin(Context&) override;
  void accumulate(Context&, const IntensityPairs&) override;
  void slopes(Context&, const IntensityPairs&, float* slopes) const override;

  /// The counts, laid out like ParzenHistogram::Sums, and behind them the number of samples.
  const Buffer<unsigned long long>& counts() const { return counts_; }

protected:
  std::size_t bins() const
  {
    return static_cast<std::size_t>(lookup_.windows.fixed.bins) * lookup_.windows.moving.bins;
  }

  ParzenLookup lookup_;
  Buffer<unsigned long long> counts_;
  Buffer<double> scratch_; // marginals, weights, and sums of blocks
  Buffer<float> table_;

private:
  /// Called by accumulate: finds and keeps the bins of fixed intensities that come for the second time in a
  /// row.
  void keepFixedBins(Context&, const IntensityPairs&);
  KeptFixedBins keptFor(const IntensityPairs&) const;

  int multiprocessors_ = 0;
  std::size_t sharedBytes_ = 0; // shared memory that a block may have, in bytes

  struct FixedSide {
    const float* fixed = nullptr;
    std::size_t count = 0;
    bool operator==(const FixedSide&) const = default;
  };
  FixedSide last_, kept_;
  Buffer<std::uint32_t> keptWords_;
};

}
