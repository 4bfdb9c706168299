#pragma once

#include "Core/Registration/Metric.h"
#include "Core/Registration/Terms/WarpedLattice.h"

namespace tessera {

/// ImageTerm on the CPU for a metric of pairs of intensities, where a FieldMethod evaluates the last
/// transform: the field and its adjoint are computed by tiles over slices of the lattice, everything between
/// them in batches. Results have the same bits for any number of threads. See WarpedLattice for the memory
/// that it takes.
template <int D>
class DenseImageTerm {
public:
  using Target = typename WarpedLattice<D>::Target; // its method is not null

  /// `maxBytes` is that of WarpedLattice.
  DenseImageTerm(const TermLevel<D>&, const std::optional<Matrix<D>>& gradientMatrix, PairMetric&,
                 std::size_t maxBytes = WarpedLattice<D>::usualBytes);

  /// Pass 1: begins the metric and gives it all samples. Throws Error(outOfMemory).
  SampleCount accumulate(Context&, const Target&, bool withGradient);
  /// The metric's value over so many valid samples, after accumulate.
  double finish(Context&, std::size_t valid) { return metric_.finish(valid); }
  /// Pass 2; overwrites the gradient. Call it with the same target, after accumulate with a gradient and
  /// after finish.
  void pullBack(Context&, const Target&, std::span<double> gradient);
  /// Times the parts of one more evaluation, with a gradient unless `gradient` is empty.
  std::vector<Phase> timePhases(Context&, const Target&, std::span<double> gradient);

private:
  using Slab = typename WarpedLattice<D>::Slab;
  using Batch = typename WarpedLattice<D>::Batch;

  /// How the metric's sums over a slab are cut.
  static StripePlan planOf(const Slab& part) { return planStripes(part.count, 1); }
  void slopes(Context&, const Slab&);

  WarpedLattice<D> warped_;
  PairMetric& metric_;
  std::vector<SampleCount> counts_; // one a stripe
};

}
