#pragma once

#include "Components/Metrics/Shared/Series/SeriesTerm.h"
#include "Core/Compute/Math/Random.h"

namespace tessera {

/// Mean over places of the variance over time of a series (Metz et al., "Nonrigid registration of dynamic
/// medical imaging data using nD+t B-splines and a groupwise optimization approach", 2011, eq. 6). With
/// A_pt = m(T(x_p, t)), n_p the number of times t at which T maps place p into the moving image and its mask,
/// and v0 the same mean over all voxels of the level's moving image as it is:
///
///   V = 1 / (N v0) sum_p 1 / n_p sum_t (A_pt - mean_p)^2
///
/// Places count that have one such time.
template <int D>
class VarianceOverLastDimensionMetric final : public SeriesTerm<D> {
public:
  explicit VarianceOverLastDimensionMetric(const Parameters&);
  static const ComponentDescription& description();

  /// Throws Error(usage) if the series lacks a time that the parameters name.
  void prepareForLevel(Context&, const TermLevel<D>&) override;

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  std::size_t timesOfPlace() const override
  {
    return drawn_ == 0 ? SeriesTerm<D>::timesOfPlace() : drawn_ + repetitions_;
  }
  void chooseTimes(std::size_t firstPlace, std::size_t places,
                   std::span<std::uint32_t> timeOf) const override;

  // At this level: how many times are drawn, beside how many repetitions of one. None drawn: all are used.
  std::size_t drawn_ = 0, repetitions_ = 0;
  std::uint32_t repeated_ = 0;
  double varianceOfImage_ = 1;
  Draw draw_;                     // its iteration counts the evaluations of the level
  Buffer<double> sums_, scratch_; // on a CUDA device
};

}
