#pragma once

#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Metric.h"
#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Samples/SamplesForCuda.h"
#include "Core/Registration/Terms/ComparisonOnCuda.h"

#include <memory>
#include <optional>

namespace tessera {

/// ImageTerm on a CUDA device: samples -> moving intensities and gradients -> metric -> slopes -> gradient,
/// each over all samples at once. A sample's covector, slope * gradient of the moving image, is never stored.
/// Where the samples are all voxels of a box, and the last transform is a B-spline along the box's axes that
/// is added to the transforms before it, its field and the field's adjoint are evaluated by tiles; all other
/// samples go point by point.
///
/// It needs 12 + 4 D bytes a sample, 8 more for a lattice, 4 D more if a B-spline is added by tiles to
/// transforms that are not linear, and 1 more with a mask. A lattice may go in slabs (TermLevel::slabs), so
/// that arrays are as long as a slab: all slabs once for the value, then all again for the gradient.
template <int D>
class ImageTermOnCuda {
public:
  /// Takes the memory for the expected samples. Throws Error(device) if some part has no CUDA form.
  ImageTermOnCuda(Context&, const TermLevel<D>&, const Metric&,
                  const std::optional<Matrix<D>>& gradientMatrix, GradientSummation);
  /// Makes a term in which a comparison takes the place of the moving image and its interpolator. The metric
  /// sees the comparison's numbers as the second of each pair, and must not need the first.
  ImageTermOnCuda(Context&, const TermLevel<D>&, std::unique_ptr<ComparisonOnCuda<D>>,
                  std::unique_ptr<MetricOnCuda>);

  /// The number of evaluations whose results may wait to be collected.
  static constexpr std::size_t mostInFlight = 16;
  /// Chooses the place of the result that enqueue writes and collect reads.
  void useSlot(std::size_t slot) { slot_ = slot; }
  /// Enqueues the work of one evaluation. `parameters` and `gradient` lie where vectorContext says, which is
  /// the host for a linear transform.
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters, std::span<double> gradient);
  /// Waits for the work and returns its value. It does not check whether enough samples are valid.
  TermValue collect(std::span<const double> parameters, std::span<double> gradient);
  /// Times the parts of the same work, one after the other.
  std::vector<Phase> timePhases(Context&, const SampleSet<D>&, std::span<const double> parameters,
                                std::span<double> gradient);

private:
  struct Result {
    MetricResult metric;
    unsigned long long asked = 0;
    CovectorMoments<D> moments;
  };
  /// The samples that a pass handles at a time: all of them, or some slices of a lattice.
  struct Slab {
    SamplesOnCuda<D> samples;
    std::optional<AlignedField<D>> field; // the field in these slices, if the lattice is aligned
    bool isFirst = true;
    std::size_t offset = 0; // where its intensities and slopes are in their arrays
  };

  void reserve(Context&, const ExpectedSamples<D>&);
  void takeMaskAndMemory(Context& context)
  {
    if (level_.movingMask) {
      movingMask_ = voxelsOnCuda<D>(context, level_.movingMask);
      moving_.mask = MaskOnCuda<D>(*level_.movingMask, *movingMask_);
    }
    for (const ExpectedSamples<D>& samples : level_.expected)
      reserve(context, samples);
  }
  std::vector<Slab> slabsOf(const SamplesOnCuda<D>&, const FieldMethod<D>*, std::size_t slices) const;
  std::vector<Slab> slabsOf(const SampleSet<D>&, const SamplesOnCuda<D>&, const FieldMethod<D>*) const;
  void gather(Context&, const Slab&, const FieldInterpolator<D>*, std::span<const double> parameters,
              bool withGradient, unsigned long long* asked);
  void gatherPoints(Context&, const SamplesOnCuda<D>&, std::span<const double> parameters,
                    const GatherTarget<D>&);
  void warp(Context& context, const SamplesOnCuda<D>& samples, const AffineMap<D>& before,
            const std::array<const float*, D>& field, const GatherTarget<D>& target)
  {
    if (comparison_)
      comparison_->compare(context, samples, before, field, moving_.mask, target);
    else
      warpLatticeOnCuda<D>(context, samples, before, field, moving_, target);
  }
  bool warps(const SamplesOnCuda<D>& samples) const
  {
    return comparison_ || (!samples.isList() && moving_.image.order == 1);
  }
  bool needsFixed(const SamplesOnCuda<D>& samples) const { return !samples.fixed && !comparison_; }
  IntensityPairs pairsOf(const Slab& slab, bool whole) const
  {
    const SamplesOnCuda<D>& samples = slab.samples;
    const float* const moving = movingValues_.span().data();
    if (comparison_)
      return {moving, moving, samples.count};
    return {samples.fixed ? samples.fixed : fixed_.span().data(), moving, samples.count,
            whole && samples.fixed && samples.fixed == samples.image};
  }
  IntensityPairs latticeOf(const std::vector<Slab>&, bool slopesFollow) const;
  void pullBack(Context&, const Slab&, std::span<double> gradient, Result* result);
  const FieldMethod<D>* alignedField(const SampleSet<D>&);
  std::array<float*, D> gradientArrays(std::size_t samples)
  {
    return planesOf<D>(gradients_.span().data(), samples);
  }
  void addDisplacementsBefore(Context&, const SamplesOnCuda<D>&);

  void enqueueWork(Context&, const std::vector<Slab>&, const FieldMethod<D>*,
                   std::span<const double> parameters, std::span<double> gradient);

  /// Does a part of an evaluation's work, and measures its time while phases_ is not null.
  template <class Work>
  void phase(Context&, const char* name, Work&&);

  TermLevel<D> level_;
  GradientSummation summation_;
  bool onLattice_; // the metric is a LatticeMetric: intensities and slopes of all slabs stay
  std::unique_ptr<MetricOnCuda> metric_;
  std::unique_ptr<ChainPasses<D>> chain_;
  std::unique_ptr<ComparisonOnCuda<D>> comparison_; // null: the moving image's intensities
  MovingOnCuda<D> moving_;
  std::shared_ptr<const Buffer<std::uint8_t>> movingMask_;
  SamplesForCuda<D> samples_;
  FieldOfLattice<D> fields_;

  // These are kept only to avoid new allocations in each evaluation.
  Buffer<Result> results_; // mostInFlight of them
  PinnedValues<Result> found_;
  std::size_t slot_ = 0;
  std::size_t positions_ = 0; // positions of the samples enqueued last
  bool masked_ = false;
  Buffer<float> fixed_, movingValues_, gradients_, slopes_, coefficients_;
  std::optional<VoxelLattice<D>> lattice_; // the lattice of the last evaluation
  Buffer<float> displacementsBefore_;      // for lattice_ in a single slab
  bool knowsDisplacementsBefore_ = false;
  // On the context of a MemoryCount: what field interpolator and adjoint take while they run.
  Buffer<float> coefficientsOfMethod_;
  Buffer<std::byte> partialSums_;
  std::vector<Phase>* phases_ = nullptr; // not null while phases are timed
};

}
