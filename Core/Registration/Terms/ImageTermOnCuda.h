#pragma once

#include "Core/Compute/PinnedValues.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Metric.h"
#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Samples/SamplesForCuda.h"

#include <memory>
#include <optional>

namespace tessera {

/// ImageTerm on a CUDA device: samples -> moving intensities and gradients -> metric -> slopes -> gradient,
/// each over all samples at once. A sample's covector, slope * gradient of the moving image, is never stored.
/// Where the samples are all voxels of a box, and the last transform is a B-spline along the box's axes that
/// is added to what comes before, its field and the field's adjoint are evaluated by tiles; everything else
/// goes point by point.
///
/// Bytes a sample: 12 + 4 D, and 8 more of a lattice; 4 D more if a B-spline is added by tiles to what is not
/// linear, 1 in a mask. A lattice may be taken in slabs (TermLevel::slabs), so that arrays are as long as a
/// slab: values first, then all again for the gradient.
template <int D>
class ImageTermOnCuda {
public:
  /// Throws Error(device) if some part has no CUDA form.
  ImageTermOnCuda(Context&, const TermLevel<D>&, const Metric&,
                  const std::optional<Matrix<D>>& gradientMatrix, GradientSummation);

  /// What it takes of the device beside images and masks.
  static DeviceMemory deviceMemory(const TermExtent<D>&, const Metric&, GradientSummation);

  /// `parameters` and `gradient` lie where vectorContext says: on the host for a linear transform. Does not
  /// judge the number of valid samples.
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters, std::span<double> gradient);
  TermValue collect(std::span<const double> parameters, std::span<double> gradient);
  /// The same work in parts, each waited for.
  std::vector<Phase> timePhases(Context&, const SampleSet<D>&, std::span<const double> parameters,
                                std::span<double> gradient);

private:
  struct Result {
    MetricResult metric;
    unsigned long long asked = 0;
    CovectorMoments<D> moments;
  };
  /// What a pass takes at a time: all samples, or slices of a lattice.
  struct Slab {
    SamplesOnCuda<D> samples;
    std::optional<AlignedField<D>> field; // of these slices, if the lattice is aligned
    bool isFirst = true;
  };

  static std::vector<Slab> slabsOf(const SamplesOnCuda<D>&, const FieldMethod<D>*, std::size_t slices);
  std::vector<Slab> slabsOf(const SampleSet<D>&, const SamplesOnCuda<D>&, const FieldMethod<D>*) const;
  void gather(Context&, const Slab&, const FieldInterpolator<D>*, std::span<const double> parameters,
              bool withGradient, unsigned long long* asked);
  IntensityPairs pairsOf(const Slab&, bool whole) const;
  void pullBack(Context&, const Slab&, std::span<double> gradient, Result* result);
  const FieldMethod<D>* alignedField(const SampleSet<D>&);
  std::array<float*, D> gradientArrays(std::size_t samples);
  void addDisplacementsBefore(Context&, const SamplesOnCuda<D>&);

  /// What decides which work is given; all else stays over a level.
  struct Plan {
    std::size_t count = 0;
    const float* fixed = nullptr;
    const double* points = nullptr;
    const float* image = nullptr;
    const std::uint8_t* asked = nullptr;
    std::array<int, D> first{}, step{}, positions{};
    const double* parameters = nullptr;
    const double* gradient = nullptr;

    bool operator==(const Plan&) const = default;
  };
  void enqueueWork(Context&, const std::vector<Slab>&, const FieldMethod<D>*,
                   std::span<const double> parameters, std::span<double> gradient);

  /// Does a part of an evaluation's work; takes its time if phases_ are asked for.
  template <class Work>
  void phase(Context&, const char* name, Work&&);

  TermLevel<D> level_;
  GradientSummation summation_;
  std::unique_ptr<MetricOnCuda> metric_;
  std::unique_ptr<ChainPasses<D>> chain_;
  MovingOnCuda<D> moving_;
  std::shared_ptr<const Buffer<std::uint8_t>> movingMask_;
  SamplesForCuda<D> samples_;
  FieldOfLattice<D> fields_;

  // Reused over evaluations.
  Buffer<Result> result_;
  PinnedValues<Result> found_;
  std::size_t positions_ = 0; // of the samples given last
  bool masked_ = false;
  Buffer<float> fixed_, movingValues_, gradients_, slopes_, coefficients_;
  std::optional<VoxelLattice<D>> lattice_; // of the last evaluation
  Buffer<float> displacementsBefore_;      // on it, in a single slab; empty until asked for
  std::vector<Phase>* phases_ = nullptr;   // not null while phases are timed
  Plan last_, recorded_;
  std::unique_ptr<Recording> recording_;
};

}
