#pragma once

#include "Components/Metrics/Shared/LocalWindows/LocalWindow.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

namespace tessera {

/// Both images on a CUDA device, with the units in which their intensities are measured.
struct UnitPairs {
  const float* fixed = nullptr;
  const float* moving = nullptr;
  // An intensity in these units is scale * intensity + offset.
  float fixedScale = 0, fixedOffset = 0, movingScale = 0, movingOffset = 0;
  float noiseVariance = 0; // in these units
  bool noiseIsShared = true;
};

/// A sum of correlation coefficients, and the number of their windows.
struct Correlations {
  double sum = 0, windows = 0;

  TESSERA_HOST_DEVICE void add(const Correlations& others)
  {
    sum += others.sum;
    windows += others.windows;
  }
};

/// LocalNormalizedCorrelation in kernels, which LocalNormalizedCorrelation.cu defines. It takes its memory
/// for lattices of so many positions when it is made, and more only for larger ones.
class LocalCorrelationOnCuda final : public MetricOnCuda {
public:
  LocalCorrelationOnCuda(const Context& context, const LocalWindow& window, const UnitPairs& units,
                         std::size_t positions)
      : window_(window), units_(units), pulled_(context, 3 * positions),
        ofBlocks_(context, maxBlocks(positions)), factor_(context, 1)
  {
  }

  /// Does nothing. Host code defines it, so that builds without CUDA have this class's table of functions.
  void begin(Context&) override;
  TESSERA_CUDA_ONLY void accumulate(Context&, const IntensityPairs&) override;
  TESSERA_CUDA_ONLY void finish(Context&, MetricResult*) override;
  TESSERA_CUDA_ONLY void slopes(Context&, const IntensityPairs&, float* slopes) const override;

private:
  /// A block takes at most 64 x 16 x 32 positions; even a lattice of a single row has 8 for each block.
  static std::size_t maxBlocks(std::size_t positions) { return positions / 8 + 1; }

  LocalWindow window_;
  UnitPairs units_;
  unsigned blocks_ = 0; // in the last accumulate
  Buffer<float> pulled_;
  Buffer<Correlations> ofBlocks_;
  Buffer<float> factor_; // common to all slopes
};

}
