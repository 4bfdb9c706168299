#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"

namespace tessera {
namespace sums {

/// This number of blocks is the same on every device, so that sums are added in the same order.
constexpr unsigned maxBlocks = 1056;

template <class Formula>
struct PartialSums {
  typename Formula::Sums sums;
  double valid = 0;

  TESSERA_HOST_DEVICE void add(const PartialSums& others)
  {
    sums.add(others.sums);
    valid += others.valid;
  }
};

}

/// A formula whose sums are a few doubles, in kernels. Sums, Table, accumulate, finish, value and slope must
/// be TESSERA_HOST_DEVICE, and the formula itself is copied to the device. Its component's onCuda makes one,
/// which takes all its memory; the component's .cu file includes SumsOnCuda.cuh and instantiates the class.
template <class Formula>
class SumsOnCuda final : public MetricOnCuda {
public:
  SumsOnCuda(const Context& context, const Formula& formula)
      : formula_(formula), partials_(context, sums::maxBlocks), table_(context, 1)
  {
  }

  void begin(Context&) override { partialCount_ = 0; }
  TESSERA_CUDA_ONLY void accumulate(Context&, const IntensityPairs&) override;
  TESSERA_CUDA_ONLY void finish(Context&, MetricResult*) override;
  TESSERA_CUDA_ONLY void slopes(Context&, const IntensityPairs&, float* slopes) const override;

private:
  Formula formula_;
  unsigned partialCount_ = 0; // blocks that wrote a partial sum since begin
  Buffer<sums::PartialSums<Formula>> partials_;
  Buffer<typename Formula::Table> table_;
};

}
