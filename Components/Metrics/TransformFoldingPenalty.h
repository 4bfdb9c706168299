#pragma once

#include "Components/Metrics/Shared/FoldingLattice/FoldingLatticeOnCpu.h"
#include "Components/Metrics/Shared/JetPenaltyOnCuda.h"
#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Samples/MadeForLattice.h"
#include "Core/Registration/TermMemory.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

namespace tessera {

/// Mean of max(|log det J| - log r, 0)^2, where J = dT/dx is the spatial Jacobian of the whole chain and r
/// the `ToleratedVolumeFactor`: it grows fast before the transform folds. With r = 1 it also keeps volumes;
/// it is then that of Modat et al., "Lung registration using the NiftyReg package", 2010 (its option -jl).
/// Where det J is below 0.01, and so where T folds, a parabola continues it with equal value, slope and
/// curvature, so that folds open again. The slope there is a thousand times as large as those of images: a
/// single random sample in a fold moves control points by many mm, if the step size was estimated where
/// nothing folds. So the penalty is steep.
///
/// If the sampler gives a lattice of voxels, every n-th of them along each axis is a sample: det J changes
/// little within a cell of a B-spline's grid. Samples that map outside the moving mask are left out; the
/// extent of the moving image does not matter.
template <int D>
class TransformFoldingPenalty final : public CostTerm<D>, public TermTellsMemory, private TermOnCuda<D> {
public:
  explicit TransformFoldingPenalty(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  /// The slope by det J is 920 where det J is 0.01, and grows with the depth of a fold.
  bool isSteep() const override { return true; }
  std::string whyNotOnCuda() const override { return ""; }
  double hostBytes(const TermExtent&) const override;
  /// Throws Error(usage) if a transform of the chain has no spatial derivatives.
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    onCuda_.reset();
    onLattice_.reset();
  }
  TermOnCuda<D>* onCuda() override { return onCuda_ ? this : nullptr; }

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
               std::span<double> gradient) override
  {
    onCuda_->enqueue(context, fewer(samples), parameters, gradient);
  }
  bool isApart() const override { return true; }
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override
  {
    return validSampleRule_.checked(level_.level, onCuda_->collect(parameters, gradient));
  }
  const SampleSet<D>& fewer(const SampleSet<D>&);
  /// Null if the samples go point by point.
  FoldingLatticeOnCpu<D>* onLattice(const Context&, const SampleSet<D>&);

  ValidSampleRule validSampleRule_;
  std::vector<std::size_t> steps_;          // in voxels, one a level
  std::vector<double> toleratedLogVolumes_; // log r, one a level
  TermLevel<D> level_;
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
  SampleSet<D> fewer_;
  MadeForLattice<D, FoldingLatticeOnCpu<D>> onLattice_;
  std::optional<JetPenaltyOnCuda<D>> onCuda_; // none: on the CPU
};

}
