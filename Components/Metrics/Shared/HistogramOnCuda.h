#pragma once

#include "Components/Metrics/Shared/ParzenLookup.h"
#include "Core/Compute/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>
#include <memory>

namespace tessera {

enum class EntropyKind { mutualInformation, normalized };

/// The fixed side of a call of IntensityPairs as bins of windows of order 0, a byte or two a sample.
struct KeptFixedBins {
  const std::uint32_t* words = nullptr; // null: none are kept
  bool wide = false;                    // two bytes
};

/// Metrics on entropies of a joint histogram, in kernels. The bins are those of ParzenHistogram; what a
/// sample adds to them is rounded to 2^-22 to 2^-16 if there are very many samples, and to 2^-32 otherwise.
class HistogramOnCuda final : public MetricOnCuda {
public:
  HistogramOnCuda(const Context&, const ParzenWindows&, EntropyKind);

  void begin(Context&) override;
  void accumulate(Context&, const IntensityPairs&) override;
  void finish(Context&, MetricResult* result) override;
  void slopes(Context&, const IntensityPairs&, float* slopes) const override;

  /// As ParzenHistogram::Sums, and behind them the number of samples.
  const Buffer<unsigned long long>& counts() const { return counts_; }

private:
  template <class Terms>
  void finishAs(Context&, MetricResult*);
  /// For a call to accumulate: finds the bins of a fixed side that comes the second time in a row.
  void keepFixedBins(Context&, const IntensityPairs&);
  KeptFixedBins keptFor(const IntensityPairs&) const;
  std::size_t bins() const
  {
    return static_cast<std::size_t>(lookup_.windows.fixed.bins) * lookup_.windows.moving.bins;
  }

  ParzenLookup lookup_;
  EntropyKind kind_;
  int multiprocessors_ = 0;
  std::size_t sharedBytes_ = 0; // that a block may have
  Buffer<unsigned long long> counts_;
  Buffer<double> scratch_; // marginals, weights, sums of blocks
  Buffer<float> table_;

  struct FixedSide {
    const float* fixed = nullptr;
    std::size_t count = 0;
    bool operator==(const FixedSide&) const = default;
  };
  FixedSide last_, kept_;
  Buffer<std::uint32_t> keptWords_;
};

std::unique_ptr<MetricOnCuda> histogramOnCuda(const Context&, const ParzenWindows&, EntropyKind);

}
