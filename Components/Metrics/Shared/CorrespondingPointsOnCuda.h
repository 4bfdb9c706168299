#pragma once

#include "Components/Metrics/Shared/CorrespondingPointsKernels.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Registration/CostTerm.h"

namespace tessera {

/// CorrespondingPointsEuclideanDistanceMetric on a CUDA device.
template <int D>
class CorrespondingPointsOnCuda final : public TermOnCuda<D> {
public:
  /// Copies the points. Throws Error(device) if a transform of the chain has no CUDA form.
  CorrespondingPointsOnCuda(const Context&, const TermLevel<D>&);

  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override;
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override;

private:
  std::array<float*, D> covectorArrays();
  void pullBack(Context&, const ChainOnCuda<D>&, std::span<double> gradient);

  TermLevel<D> level_;
  HeldChainOnCuda<D> chain_;
  std::array<Buffer<double>, D> fixedMm_, movingMm_;
  SamplesOnCuda<D> points_;
  std::array<const double*, D> partnersMm_{};
  std::shared_ptr<const Buffer<std::uint8_t>> movingMaskVoxels_;
  MaskOnCuda<D> movingMask_;

  // These are kept only to avoid new allocations in each evaluation.
  Buffer<DistanceSums<D>> result_;
  PinnedValues<DistanceSums<D>> found_;
  Buffer<double> scratch_;
  Buffer<float> covectors_;
  ParameterPullBack<D> pullBack_;
};

}
