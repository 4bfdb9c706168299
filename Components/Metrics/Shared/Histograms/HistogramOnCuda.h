#pragma once

#include "Components/Metrics/Shared/Histograms/CountingPlan.h"
#include "Components/Metrics/Shared/Histograms/ParzenLookup.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

#include <cstdint>

namespace tessera {

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
  HistogramOnCuda(const Context&, const ParzenWindows&);
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
  int multiprocessors_ = 0;     // 0: the device was not asked yet
  std::size_t sharedBytes_ = 0; // shared memory that a block may have, in bytes
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
