#pragma once

#include "Core/Registration/Metric.h"
#include "Core/Registration/Terms/WarpedLattice.h"

namespace tessera {

/// ImageTerm on the CPU for a metric that sees the whole lattice. It works with any chain. Results have the
/// same bits for any number of threads.
///
/// Beside the memory of WarpedLattice and of the metric, it needs 4 bytes a position for slopes, and 4 more
/// if the lattice is not the whole fixed image.
template <int D>
class LatticeImageTerm {
public:
  using Target = typename WarpedLattice<D>::Target;

  /// `maxBytes` is that of WarpedLattice.
  LatticeImageTerm(const TermLevel<D>&, const std::optional<Matrix<D>>& gradientMatrix, LatticeMetric&,
                   std::size_t maxBytes = WarpedLattice<D>::usualBytes);

  /// Pass 1: warps the moving image. Throws Error(outOfMemory).
  SampleCount accumulate(Context&, const Target&, bool withGradient);
  /// The metric's value, after accumulate of the same lattice.
  double finish(Context&, std::size_t valid);
  /// Pass 2; overwrites the gradient. Call it with the same target, after accumulate with a gradient and
  /// after finish.
  void pullBack(Context&, const Target&, std::span<double> gradient);
  /// Times the parts of one more evaluation, with a gradient unless `gradient` is empty.
  std::vector<Phase> timePhases(Context&, const Target&, std::span<double> gradient);

private:
  using Slab = typename WarpedLattice<D>::Slab;

  void prepare(Context&, const VoxelLattice<D>&);
  SampleCount warp(Context&, const Target&, const Slab&, bool withGradient);

  LatticeMetric& metric_;
  WarpedLattice<D> warped_;
  bool withGradient_ = false; // of the last accumulate
  struct Times {
    double field = 0, interpolation = 0;
  };
  Times times_; // in ms, summed over all warps

  // These belong to the lattice that was evaluated last.
  std::optional<VoxelLattice<D>> lattice_;
  std::vector<float> fixedOfLattice_; // empty if the lattice is the whole fixed image
  std::vector<float> slopes_;
};

}
