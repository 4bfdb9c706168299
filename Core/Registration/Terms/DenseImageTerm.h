#pragma once

#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Metric.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"

#include <optional>

namespace tessera {

/// ImageTerm on the CPU where a FieldMethod evaluates the last transform: the field and its adjoint by tiles
/// over slices of the lattice, what is between them in batches. The same bits for any number of threads.
///
/// Bytes a voxel: 4 (D + 1), one more with a fixed mask. Lattices that need more than `maxBytes` go in slabs
/// of slices, which are warped once for the value and once more for the gradient.
template <int D>
class DenseImageTerm {
public:
  static constexpr std::size_t usualBytes = std::size_t(512) << 20;

  /// What one evaluation is about.
  struct Target {
    const VoxelLattice<D>& lattice;
    const FieldMethod<D>& method;
    std::span<const double> parameters; // of the last transform
  };

  DenseImageTerm(const TermLevel<D>&, const std::optional<Matrix<D>>& gradientMatrix, Metric&,
                 std::size_t maxBytes = usualBytes);

  /// Pass 1: begins the metric and gives it all samples. Throws Error(outOfMemory).
  SampleCount accumulate(Context&, const Target&, bool withGradient);
  /// Pass 2, of the same target after an accumulate with gradient and the metric's finish; overwrites the
  /// gradient.
  void pullBack(Context&, const Target&, std::span<double> gradient);
  /// Of one more evaluation, with a gradient unless it has no room for one.
  std::vector<Phase> timePhases(Context&, const Target&, std::span<double> gradient);

private:
  /// Slices of the lattice, and its positions: those of a field of their own.
  struct Slab {
    int firstSlice = 0, slices = 0;
    std::size_t first = 0, count = 0;
  };
  struct Batch;

  /// The metric's accumulators of a slab.
  static StripePlan planOf(const Slab& part) { return planStripes(part.count, 1); }
  void prepare(Context&, const Target&);
  void findAsked(Context&);
  Slab slab(std::size_t number) const;
  void evaluateField(Context&, const Target&, const Slab&);
  SampleCount warp(const Slab&, std::size_t first, std::size_t last, bool withGradient, Batch&);
  SampleCount keepWhatCounts(const Slab&, std::size_t first, bool withGradient, Batch&);
  void warpSlab(Context&, const Slab&, bool withGradient);
  void slopes(Context&, const Slab&);
  std::array<float*, D> arrays(const Slab&);

  TermLevel<D> level_;
  std::optional<Matrix<D>> gradientMatrix_;
  Metric& metric_;
  std::size_t maxBytes_;

  // Of the lattice that was evaluated last.
  std::optional<VoxelLattice<D>> lattice_;
  SampleSet<D> everyVoxel_; // without its mask
  std::size_t slabs_ = 0;
  int slicesOfSlab_ = 0;
  std::vector<std::uint8_t> asked_; // one a position; empty: all are

  // Of the slab that was evaluated last.
  std::vector<float>
      fieldOrGradients_; // a batch's displacements in mm give way to the moving image's gradients in 1/mm
  std::vector<float> movingOrSlopes_; // NaN: does not count; intensities give way to slopes
  std::vector<SampleCount> counts_;   // one a stripe
};

}
