#pragma once

#include "Components/Metrics/Shared/Histograms/CountingPlan.h"
#include "Components/Metrics/Shared/Histograms/ParzenLookup.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>

namespace tessera {

/// The bins of a call's fixed intensities in windows of order 0, one or two bytes a sample.
struct KeptFixedBins {
  const std::uint32_t* words = nullptr; // null: none are kept
  bool wide = false;                    // two bytes a sample
};

/// A launch that counts pairs in shared memory, and the columns of its histogram.
struct CountingLaunch {
  LaunchShape shape;
  CountingPlan plan;
  int columns = 0;
};

/// A joint histogram on a CUDA device, from which EntropyOnCuda makes metrics. The bins are those of
/// ParzenHistogram. What a sample adds to a bin is rounded to 2^-22 to 2^-16 of a sample if blocks count in
/// shared memory (CountingPlan), and to 2^-32 otherwise.
class HistogramOnCuda : public MetricOnCuda {
public:
  /// Takes all its memory; see Metric::onCuda.
  HistogramOnCuda(const Context&, const ParzenWindows&, std::size_t samplesThatStay);
  ~HistogramOnCuda() override;

  TESSERA_CUDA_ONLY void begin(Context&) override;
  TESSERA_CUDA_ONLY void accumulate(Context&, const IntensityPairs&) override;
  TESSERA_CUDA_ONLY void slopes(Context&, const IntensityPairs&, float* slopes) const override;

  /// The launch of accumulate for pairs without structure, with windows of order 0 and 3, counted in shared
  /// memory.
  TESSERA_CUDA_ONLY CountingLaunch countingLaunch(std::size_t pairs) const;

  /// The counts, laid out like ParzenHistogram::Sums, and behind them the number of samples.
  const Buffer<unsigned long long>& counts() const { return counts_; }

protected:
  static constexpr std::size_t doublesOfTerms = 2; // a block's sums of entropies
  static constexpr unsigned finishBlocks = 64; // in each step from counts to table, if there are many bins

  std::size_t bins() const
  {
    return static_cast<std::size_t>(lookup_.windows.fixed.bins) * lookup_.windows.moving.bins;
  }

  ParzenLookup lookup_;
  Buffer<unsigned long long> counts_;
  Buffer<double> scratch_; // marginals, weights, and sums of blocks
  Buffer<float> table_;

private:
  /// Takes memory for the bins of fixed intensities, if they are kept: windows of order 0 have one bin each.
  bool reserveFixedBins(const Context& context, std::size_t samples)
  {
    if (lookup_.windows.fixed.order != 0)
      return false;
    grown(context, keptWords_, (isWide() ? 2 : 1) * ((samples + 3) / 4));
    return true;
  }
  /// Called by accumulate: finds and keeps the bins of fixed intensities that come for the second time in a
  /// row.
  TESSERA_CUDA_ONLY void keepFixedBins(Context&, const IntensityPairs&);
  TESSERA_CUDA_ONLY KeptFixedBins keptFor(const IntensityPairs&) const;
  /// Whether bins are kept in two bytes: 255 is none of a byte's.
  bool isWide() const { return lookup_.windows.fixed.bins > 255; }

  int multiprocessors_ = 0;     // 0: the device was not asked yet
  std::size_t sharedBytes_ = 0; // shared memory that a block may have, in bytes

  struct FixedSide {
    const float* fixed = nullptr;
    std::size_t count = 0;
    bool operator==(const FixedSide&) const = default;
  };
  FixedSide last_, kept_;
  Buffer<std::uint32_t> keptWords_;
};

/// A metric of the entropies that Terms (EntropyTerms.h) add up. Its component's onCuda makes one; the
/// component's .cu file includes EntropyOnCuda.cuh and instantiates the class.
template <class Terms>
class EntropyOnCuda final : public HistogramOnCuda {
public:
  using HistogramOnCuda::HistogramOnCuda;

  TESSERA_CUDA_ONLY void finish(Context&, MetricResult* result) override;

private:
  static_assert(sizeof(Terms) <= doublesOfTerms * sizeof(double));
};

}
