#pragma once

#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Metric.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"

#include <optional>

namespace tessera {

/// ImageTerm on the CPU where a FieldMethod evaluates the last transform: the field and its adjoint are
/// computed by tiles over slices of the lattice, everything between them in batches. Results have the same
/// bits for any number of threads.
///
/// It needs 4 (D + 1) bytes a voxel, and one more with a fixed mask. A lattice that needs more than
/// `maxBytes` goes in slabs, which are warped once for the value and once more for the gradient.
template <int D>
class DenseImageTerm {
public:
  static constexpr std::size_t usualBytes = std::size_t(512) << 20;

  /// The lattice, the method and the parameters of one evaluation.
  struct Target {
    const VoxelLattice<D>& lattice;
    const FieldMethod<D>& method;
    std::span<const double> parameters; // parameters of the last transform
  };

  DenseImageTerm(const TermLevel<D>&, const std::optional<Matrix<D>>& gradientMatrix, Metric&,
                 std::size_t maxBytes = usualBytes);

  /// Pass 1: begins the metric and gives it all samples. Throws Error(outOfMemory).
  SampleCount accumulate(Context&, const Target&, bool withGradient);
  /// Pass 2; overwrites the gradient. Call it with the same target, after accumulate with a gradient and
  /// after the metric's finish.
  void pullBack(Context&, const Target&, std::span<double> gradient);
  /// Times the parts of one more evaluation, with a gradient unless `gradient` is empty.
  std::vector<Phase> timePhases(Context&, const Target&, std::span<double> gradient);

private:
  /// A range of slices and the positions in them; the slab's field is evaluated on its own.
  struct Slab {
    int firstSlice = 0, slices = 0;
    std::size_t first = 0, count = 0;
  };
  struct Batch;

  /// How the metric's sums over a slab are cut.
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

  // These belong to the lattice that was evaluated last.
  std::optional<VoxelLattice<D>> lattice_;
  SampleSet<D> everyVoxel_; // the lattice without its mask
  std::size_t slabs_ = 0;
  int slicesOfSlab_ = 0;
  std::vector<std::uint8_t> asked_; // one a position, 0 outside the fixed mask; empty without a mask

  // These belong to the slab that was evaluated last. Displacements in mm are replaced, batch by batch, by
  // the moving image's gradients in 1/mm; moving intensities (NaN: the sample does not count) by slopes.
  std::vector<float> fieldOrGradients_;
  std::vector<float> movingOrSlopes_;
  std::vector<SampleCount> counts_; // one a stripe
};

}
