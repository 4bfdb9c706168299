#pragma once

#include "Components/Metrics/Shared/FoldingLattice/FoldingLatticeOnCuda.h"
#include "Components/Metrics/Shared/JetPenaltyKernels.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Samples/MadeForLattice.h"
#include "Core/Registration/Samples/SamplesForCuda.h"

namespace tessera {

/// A penalty on the spatial derivatives of a transform on a CUDA device. Samples go in chunks, which need 8
/// jetCovectors bytes a sample, or, for the formula of folds, as a FoldingLattice. Tissue volumes need 4 + 4
/// D bytes for each of all samples, too.
template <int D>
class JetPenaltyOnCuda {
public:
  /// Throws Error(device) if a transform of the chain has no CUDA form.
  JetPenaltyOnCuda(const Context& context, const TermLevel<D>& level, JetFormula formula,
                   const JetSettings<D>& settings)
      : level_(level), formula_(formula), settings_(settings), chain_(context, *level.chain),
        samples_(context, level.fixed), result_(context, 1), found_(context, 1),
        scratch_(context, std::max(jetScratch<D>(), momentScratch<D>()))
  {
    if (level.movingMask) {
      movingMaskVoxels_ = voxelsOnCuda<D>(context, level.movingMask);
      movingMask_ = MaskOnCuda<D>(*level.movingMask, *movingMaskVoxels_);
    }
  }

  /// Takes the memory for samples. `enqueue` takes it if this was not called.
  void reserve(const Context&, const ExpectedSamples<D>&);

  /// These do the work of TermOnCuda, but accept any number of valid samples.
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters, std::span<double> gradient);
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) const;

private:
  /// Null if the samples go point by point.
  FoldingLatticeOnCuda<D>* onLattice(const Context&, const VoxelLattice<D>*);
  void pullBackToSpline(Context&, const SampleChunk&, const ChainOnCuda<D>&, const double* covectors,
                        bool isLast, std::span<double> gradient);

  void gather(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&, bool withGradient);
  void pullBackMoving(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&, std::span<double> gradient);

  TermLevel<D> level_;
  JetFormula formula_;
  JetSettings<D> settings_;
  HeldChainOnCuda<D> chain_;
  SamplesForCuda<D> samples_;
  std::shared_ptr<const Buffer<std::uint8_t>> movingMaskVoxels_;
  MaskOnCuda<D> movingMask_;

  MadeForLattice<D, FoldingLatticeOnCuda<D>> onLattice_;

  // These are kept only to avoid new allocations in each evaluation.
  Buffer<JetSums<D>> result_;
  PinnedValues<JetSums<D>> found_;
  Buffer<double> scratch_, covectors_, splineScratch_, splineSums_;
  Buffer<unsigned long long> sums_;  // zeros between evaluations
  Buffer<float> moving_, gradients_; // of tissue volumes
  ParameterPullBack<D> pullBack_;
};

}
