#include "Core/Registration/Terms/LatticeImageTerm.h"

#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {

template <int D>
LatticeImageTerm<D>::LatticeImageTerm(const TermLevel<D>& level,
                                      const std::optional<Matrix<D>>& gradientMatrix, LatticeMetric& metric,
                                      std::size_t maxBytes)
    : metric_(metric), warped_(level, gradientMatrix, WarpedLattice<D>::Keeps::everything, maxBytes)
{
}

template <int D>
SampleCount LatticeImageTerm<D>::accumulate(Context& context, const Target& target, bool withGradient)
{
  prepare(context, target.lattice);
  withGradient_ = withGradient;
  SampleCount total;
  for (std::size_t number = 0; number < warped_.slabs(); ++number)
    total += warp(context, target, warped_.slab(number), withGradient && warped_.slabs() == 1);
  return total;
}

template <int D>
SampleCount LatticeImageTerm<D>::warp(Context& context, const Target& target, const Slab& part,
                                      bool withGradient)
{
  SampleCount count;
  addMilliseconds(times_.field, [&] { warped_.begin(context, target, part); });
  addMilliseconds(times_.interpolation, [&] { count = warped_.warp(context, part, withGradient); });
  return count;
}

template <int D>
double LatticeImageTerm<D>::finish(Context& context, std::size_t)
{
  LatticeIntensities intensities;
  std::ranges::copy(lattice_->count, intensities.size.begin());
  intensities.fixed = fixedOfLattice_.empty() ? lattice_->image->voxels.data() : fixedOfLattice_.data();
  intensities.moving = warped_.moving(warped_.slab(0));
  return metric_.evaluate(context, intensities, withGradient_ ? slopes_.data() : nullptr);
}

template <int D>
void LatticeImageTerm<D>::pullBack(Context& context, const Target& target, std::span<double> gradient)
{
  std::ranges::fill(gradient, 0.0);
  for (std::size_t number = 0; number < warped_.slabs(); ++number) {
    const Slab part = warped_.slab(number);
    if (warped_.slabs() > 1)
      warp(context, target, part, true);
    warped_.pullBack(context, target, part, slopes_.data() + part.first, gradient);
  }
}

template <int D>
std::vector<Phase> LatticeImageTerm<D>::timePhases(Context& context, const Target& target,
                                                   std::span<double> gradient)
{
  times_ = {};
  double metric = 0, pulledBack = 0;
  const SampleCount count = accumulate(context, target, !gradient.empty());
  addMilliseconds(metric, [&] { finish(context, count.valid); });
  const double warpedBefore = times_.field + times_.interpolation;
  if (!gradient.empty())
    addMilliseconds(pulledBack, [&] { pullBack(context, target, gradient); });
  const double warpedAgain = times_.field + times_.interpolation - warpedBefore;
  std::vector<Phase> phases{
      {"transform", times_.field}, {"interpolation", times_.interpolation}, {"metric", metric}};
  if (!gradient.empty())
    phases.push_back({"pull-back", std::max(0.0, pulledBack - warpedAgain)});
  return phases;
}

template <int D>
void LatticeImageTerm<D>::prepare(Context& context, const VoxelLattice<D>& lattice)
{
  if (lattice_ == lattice)
    return;
  const bool isWhole = lattice.count == lattice.image->geometry.size;
  warped_.prepare(context, lattice, metric_.bytesAPosition() + (isWhole ? 1 : 2) * sizeof(float));
  lattice_ = lattice;
  slopes_.assign(lattice.positions(), 0);
  fixedOfLattice_.assign(isWhole ? 0 : lattice.positions(), 0);
  forEachRange(context, fixedOfLattice_.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    auto& batch = WarpedLattice<D>::Batch::ofThisThread();
    fillBatch<D>(warped_.everyVoxel(), first, last, batch.points, batch.fixed.data());
    std::copy_n(batch.fixed.data(), last - first, fixedOfLattice_.data() + first);
  });
}

TESSERA_INSTANTIATE_CLASS(LatticeImageTerm);

}
