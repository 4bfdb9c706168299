#pragma once

#include "Components/Metrics/Shared/CorrespondingPointsKernels.h"
#include "Core/Compute/PinnedValues.h"
#include "Core/Registration/Chain/HeldChainOnCuda.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Terms/ParameterPullBack.h"

namespace tessera {

/// CorrespondingPointsEuclideanDistanceMetric on a CUDA device.
template <int D>
class CorrespondingPointsOnCuda {
public:
  /// Copies the points. Throws Error(device) if a transform of the chain has no CUDA form.
  CorrespondingPointsOnCuda(const Context&, const TermLevel<D>&);

  /// What it takes of the device, beside the mask.
  static double deviceBytes(const TermExtent<D>&);

  /// As in CostTerm.
  void give(Context&, std::span<const double> parameters, std::span<double> gradient);
  TermValue take(std::span<const double> parameters, std::span<double> gradient) const;

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

  // Reused over evaluations.
  Buffer<DistanceSums<D>> result_;
  PinnedValues<DistanceSums<D>> found_;
  Buffer<double> scratch_;
  Buffer<float> covectors_;
  ParameterPullBack<D> pullBack_;
};

}
