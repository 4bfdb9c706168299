#pragma once

#include "Components/Metrics/Shared/DistanceKernels.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Registration/CostTerm.h"

namespace tessera {

/// Means of distances of mapped points on a CUDA device; distancesOnCuda says which. Points go in chunks,
/// which need 4 D bytes a point for the gradient.
template <int D>
class DistancesOnCuda {
public:
  /// Throws Error(device) if a transform of the chain has no CUDA form.
  DistancesOnCuda(const Context& context, const TermLevel<D>& level)
      : level_(level), chain_(context, *level.chain), result_(context, 1), found_(context, 1),
        scratch_(context, std::max(distanceScratch, momentScratch<D>()))
  {
    if (level.movingMask) {
      movingMaskVoxels_ = voxelsOnCuda<D>(context, level.movingMask);
      movingMask_ = MaskOnCuda<D>(*level.movingMask, *movingMaskVoxels_);
    }
  }

  /// Takes the memory for the gradient at so many points. `enqueue` takes it if this was not called.
  void reserve(const Context&, std::size_t points);

  /// These do the work of TermOnCuda, but accept any number of valid points.
  void enqueue(Context&, const SamplesOnCuda<D>&, const PartnersOnCuda<D>&,
               std::span<const double> parameters, std::span<double> gradient);
  TermValue collect(std::span<const double> parameters, std::span<double> gradient);

private:
  void pullBack(Context&, const SamplesOnCuda<D>& chunk, const ChainOnCuda<D>&,
                const std::array<float*, D>& covectors, bool isFirst, bool isLast,
                std::span<double> gradient);

  TermLevel<D> level_;
  HeldChainOnCuda<D> chain_;
  std::shared_ptr<const Buffer<std::uint8_t>> movingMaskVoxels_;
  MaskOnCuda<D> movingMask_;

  // These are kept only to avoid new allocations in each evaluation.
  Buffer<DistanceSums<D>> result_;
  PinnedValues<DistanceSums<D>> found_;
  Buffer<double> scratch_;
  Buffer<float> covectors_;
  ParameterPullBack<D> pullBack_;
};

/// CorrespondingPointsEuclideanDistanceMetric on a CUDA device.
template <int D>
class CorrespondingPointsOnCuda final : public TermOnCuda<D> {
public:
  /// Copies the points. Throws Error(device) if a transform of the chain has no CUDA form.
  CorrespondingPointsOnCuda(const Context&, const TermLevel<D>&, double errorMm);

  void enqueue(Context& context, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override
  {
    distances_.enqueue(context, points_, partners_, parameters, gradient);
  }
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override
  {
    return distances_.collect(parameters, gradient);
  }

private:
  DistancesOnCuda<D> distances_;
  std::array<Buffer<double>, D> fixedMm_, movingMm_;
  Buffer<double> weights_; // with the mean 1; empty: all are 1
  SamplesOnCuda<D> points_;
  PartnersOnCuda<D> partners_;
};

}
