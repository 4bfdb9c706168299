#pragma once

#include "Components/Metrics/CorrespondingPointsKernels.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/HeldChainOnCuda.h"

namespace tessera {

/// CorrespondingPointsEuclideanDistanceMetric on a CUDA device.
template <int D>
class CorrespondingPointsOnCuda {
public:
  /// Copies the points. Throws Error(device) if a transform of the chain has no CUDA form.
  CorrespondingPointsOnCuda(const Context&, const TermLevel<D>&);

  /// As CostTerm::evaluate.
  TermValue evaluate(Context&, std::span<const double> parameters, std::span<double> gradient);

private:
  std::array<float*, D> covectorArrays();
  void pullBackBSpline(Context&, const ChainOnCuda<D>&, double perPair, std::span<double> gradient);

  TermLevel<D> level_;
  HeldChainOnCuda<D> chain_;
  std::array<Buffer<double>, D> fixedMm_, movingMm_;
  SamplesOnCuda<D> points_;
  std::array<const double*, D> partnersMm_{};
  std::shared_ptr<const Buffer<std::uint8_t>> movingMaskVoxels_;
  MaskOnCuda<D> movingMask_;
  Buffer<DistanceSums<D>> result_;
  Buffer<double> scratch_;
  Buffer<float> covectors_;
  Buffer<unsigned long long> sums_;
  Buffer<unsigned> largest_;
};

}
