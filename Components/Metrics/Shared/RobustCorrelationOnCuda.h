#pragma once

#include "Components/Metrics/Shared/RobustLine.h"
#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

namespace tessera {

/// RobustNormalizedCorrelation in kernels. It takes all its memory when it is made.
class RobustCorrelationOnCuda final : public MetricOnCuda {
public:
  RobustCorrelationOnCuda(const Context& context, const RobustLineSearch& search, const PairUnits& units)
      : search_(search), units_(units), ofBlocks_(context, maxBlocks), line_(context, 1)
  {
  }

  /// Does nothing. Host code defines it, so that builds without CUDA have this class's table of functions.
  void begin(Context&) override;
  TESSERA_CUDA_ONLY void accumulate(Context&, const IntensityPairs&) override;
  TESSERA_CUDA_ONLY void finish(Context&, MetricResult*) override;
  TESSERA_CUDA_ONLY void slopes(Context&, const IntensityPairs&, float* slopes) const override;

private:
  static constexpr unsigned maxBlocks = sums::maxBlocks;

  TESSERA_CUDA_ONLY unsigned sum(Context&, std::size_t stride, LineCurvature);

  RobustLineSearch search_;
  PairUnits units_;
  IntensityPairs pairs_; // those of the last accumulate
  Buffer<RobustLineSums> ofBlocks_;
  Buffer<RobustLine> line_;
};

}
