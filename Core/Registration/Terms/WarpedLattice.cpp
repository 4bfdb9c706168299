#include "Core/Registration/Terms/WarpedLattice.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace tessera {
namespace {

/// sum[i] += addend[i]
TESSERA_MULTIVERSION_TO_V4 void addTo(double* sum, const float* addend, std::size_t count)
{
  for (std::size_t i = 0; i < count; ++i)
    sum[i] += static_cast<double>(addend[i]);
}

/// Sets counts[i] to 0 where an intensity of pair i is NaN; returns how many pairs still count.
TESSERA_MULTIVERSION_TO_V4 int keepNumbers(const float* fixed, const float* moving, std::size_t count,
                                           std::uint8_t* counts)
{
  int kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t numbers = fixed[i] == fixed[i] && moving[i] == moving[i] ? 1 : 0;
    counts[i] &= numbers;
    kept += counts[i];
  }
  return kept;
}

}

template <int D>
WarpedLattice<D>::WarpedLattice(const TermLevel<D>& level, const std::optional<Matrix<D>>& gradientMatrix,
                                Keeps keeps, std::size_t maxBytes)
    : level_(level), gradientMatrix_(gradientMatrix), keeps_(keeps), maxBytes_(maxBytes)
{
}

template <int D>
void WarpedLattice<D>::prepare(Context& context, const VoxelLattice<D>& lattice, std::size_t bytesBeside)
{
  if (lattice_ == lattice)
    return;
  lattice_ = lattice;
  VoxelLattice<D> everyVoxel = lattice;
  everyVoxel.mask = nullptr;
  everyVoxel_ = everyVoxel;
  const std::size_t slices = lattice_->count[D - 1], perSlice = lattice_->positions() / slices;
  const std::size_t bytesOfSlice = (D + 1) * sizeof(float) * perSlice;
  const std::size_t most = std::clamp<std::size_t>(maxBytes_ / bytesOfSlice, 1, slices);
  const std::size_t fewest = (slices + most - 1) / most;
  slicesOfSlab_ = static_cast<int>((slices + fewest - 1) / fewest);
  slabs_ = (slices + slicesOfSlab_ - 1) / slicesOfSlab_;
  const std::size_t values = perSlice * slicesOfSlab_, all = lattice_->positions();
  const std::size_t kept = keeps_ == Keeps::everything ? all : values;
  const std::size_t bytesOfStart = D * sizeof(double) * all;
  keepsStart_ = level_.chain->combination == Combination::add
                && !isLinearChain<D>(level_.chain->initial.get()) && bytesOfStart <= maxBytes_;
  startMm_ = {};
  requireMemory(static_cast<double>(sizeof(float) * (D * values + kept) + bytesBeside * all
                                    + (lattice_->mask ? all : 0) + (keepsStart_ ? bytesOfStart : 0)),
                "every voxel of a level of " + extentText(lattice_->count), "a sampler of fewer samples");
  fieldOrGradients_.assign(D * values, 0);
  moving_.assign(kept, 0);
  findAsked(context);
}

template <int D>
double WarpedLattice<D>::bytesOf(std::size_t positions, Keeps keeps, bool hasMask, std::size_t maxBytes)
{
  const double all = static_cast<double>(positions), ofSlab = static_cast<double>(maxBytes) / (D + 1),
               values = std::min(sizeof(float) * all, ofSlab);
  return D * values + (keeps == Keeps::everything ? sizeof(float) * all : values) + (hasMask ? all : 0);
}

template <int D>
void WarpedLattice<D>::findAsked(Context& context)
{
  asked_.assign(lattice_->mask ? lattice_->positions() : 0, 1);
  forEachRange(context, asked_.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    Batch& batch = Batch::ofThisThread();
    fillBatch<D>(everyVoxel_, first, last, batch.points, batch.fixed.data());
    keepInMask<D>(*lattice_->mask, batch.points.list(), asked_.data() + first);
  });
}

template <int D>
bool WarpedLattice<D>::isAsked(std::size_t first, std::size_t last) const
{
  return asked_.empty()
         || std::ranges::any_of(asked_.data() + first, asked_.data() + last,
                                [](std::uint8_t asked) { return asked != 0; });
}

template <int D>
void WarpedLattice<D>::keepStart(Context& context)
{
  for (std::vector<double>& axis : startMm_)
    axis.assign(lattice_->positions(), 0);
  forEachRange(context, lattice_->positions(), batchCapacity, [&](std::size_t first, std::size_t last) {
    if (!isAsked(first, last))
      return;
    Context oneThread;
    Batch& batch = Batch::ofThisThread();
    fillBatch<D>(everyVoxel_, first, last, batch.points, batch.fixed.data());
    mapChain<D>(oneThread, *level_.chain->initial, batch.points.list(), pointersTo<D>(startMm_, first));
  });
}

template <int D>
typename WarpedLattice<D>::Slab WarpedLattice<D>::slab(std::size_t number) const
{
  Slab part;
  const int slices = static_cast<int>(lattice_->count[D - 1]);
  const std::size_t perSlice = lattice_->positions() / lattice_->count[D - 1];
  part.firstSlice = static_cast<int>(number) * slicesOfSlab_;
  part.slices = std::min(slicesOfSlab_, slices - part.firstSlice);
  part.first = perSlice * part.firstSlice;
  part.count = perSlice * part.slices;
  return part;
}

template <int D>
void WarpedLattice<D>::begin(Context& context, const Target& target, const Slab& part)
{
  chain_ = target.method ? nullptr : &chainAt_(*level_.chain, target.parameters);
  if (target.method && keepsStart_ && startMm_[0].empty())
    keepStart(context);
  if (target.method)
    target.method->interpolator->displacements(
        context, target.method->field.slab(part.firstSlice, part.slices), {target.parameters.data(), nullptr},
        {fieldOrGradients_.data(), FieldLayout::planar,
         asked_.empty() ? nullptr : asked_.data() + part.first});
}

template <int D>
SampleCount WarpedLattice<D>::warp(const Slab& part, std::size_t first, std::size_t last, bool withGradient,
                                   Batch& batch)
{
  const std::size_t count = last - first;
  std::array<float*, D> values = arrays(part);
  for (float*& array : values)
    array += first;
  float* moving = this->moving(part) + first;
  if (!isAsked(part.first + first, part.first + last)) {
    std::fill_n(moving, count, std::numeric_limits<float>::quiet_NaN());
    for (int d = 0; withGradient && d < D; ++d)
      std::fill_n(values[d], count, 0.0f);
    return {};
  }
  Context oneThread;
  fillBatch<D>(everyVoxel_, part.first + first, part.first + last, batch.points, batch.fixed.data());
  const TransformChain<D>* const pointwise = chain_ ? chain_ : level_.chain->initial.get();
  if (!chain_ && !startMm_[0].empty())
    for (int d = 0; d < D; ++d)
      std::copy_n(startMm_[d].data() + part.first + first, count, batch.points.mm[d].data());
  else if (pointwise)
    mapChain<D>(oneThread, *pointwise, batch.points.list(), batch.points.out());
  for (int d = 0; !chain_ && d < D; ++d)
    addTo(batch.points.mm[d].data(), values[d], count);
  level_.interpolator->evaluate(oneThread, batch.points.list(), moving,
                                withGradient ? values.data() : nullptr, batch.counts.data());
  return keepWhatCounts(part, first, withGradient, batch);
}

/// Finds the samples of a batch that count. The moving intensity of all others becomes NaN, and their
/// gradient zero.
template <int D>
SampleCount WarpedLattice<D>::keepWhatCounts(const Slab& part, std::size_t first, bool withGradient,
                                             Batch& batch)
{
  const std::size_t count = batch.points.count;
  float* moving = this->moving(part) + first;
  std::uint8_t* counts = batch.counts.data();
  SampleCount found{count, 0};
  if (!asked_.empty()) {
    const std::uint8_t* asked = asked_.data() + part.first + first;
    found.asked = 0;
    for (std::size_t i = 0; i < count; ++i) {
      counts[i] &= asked[i];
      found.asked += asked[i];
    }
  }
  if (level_.movingMask)
    keepInMask<D>(*level_.movingMask, batch.points.list(), counts);
  found.valid = static_cast<std::size_t>(keepNumbers(batch.fixed.data(), moving, count, counts));
  const std::array<float*, D> gradients = arrays(part);
  if (found.valid < count)
    for (std::size_t i = 0; i < count; ++i) {
      if (counts[i])
        continue;
      moving[i] = std::numeric_limits<float>::quiet_NaN();
      for (int d = 0; withGradient && d < D; ++d)
        gradients[d][first + i] = 0;
    }
  if (withGradient && gradientMatrix_)
    multiplyGradients<D>(*gradientMatrix_, gradients, first, first + count);
  return found;
}

template <int D>
SampleCount WarpedLattice<D>::warp(Context& context, const Slab& part, bool withGradient)
{
  std::atomic<std::size_t> asked = 0, valid = 0;
  forEachRange(context, part.count, batchCapacity, [&](std::size_t first, std::size_t last) {
    const SampleCount found = warp(part, first, last, withGradient, Batch::ofThisThread());
    asked += found.asked;
    valid += found.valid;
  });
  return {asked, valid};
}

template <int D>
void WarpedLattice<D>::pullBack(Context& context, const Target& target, const Slab& part, const float* slopes,
                                std::span<double> gradient)
{
  if (!target.method)
    return pullBackByPoints(context, target, part, slopes, gradient);
  std::array<const float*, D> gradientsOfMoving;
  std::ranges::copy(arrays(part), gradientsOfMoving.begin());
  pullBackAlignedField<D>(context, target.method->field.slab(part.firstSlice, part.slices), gradientsOfMoving,
                          slopes, GradientSummation::doublePrecision, gradient.data());
}

template <int D>
void WarpedLattice<D>::pullBackByPoints(Context& context, const Target& target, const Slab& part,
                                        const float* slopes, std::span<double> gradient)
{
  const TransformChain<D>& chain = chainAt_(*level_.chain, target.parameters);
  const StripePlan plan = planStripes(part.count, gradient.size());
  const std::array<float*, D> gradientsOfMoving = arrays(part);
  gradientOfSlab_.resize(gradient.size());
  stripedGradient_.begin(gradientOfSlab_, plan.stripes);
  forEachChunk(context, plan.stripes, [&](std::size_t stripe) {
    const std::span<double> gradientOfStripe = stripedGradient_.clearedStripe(stripe);
    PointBatch<D>& points = Batch::ofThisThread().points;
    Context oneThread;
    for (std::size_t first = plan.first(stripe); first < plan.last(stripe); first += batchCapacity) {
      const std::size_t last = std::min(first + batchCapacity, plan.last(stripe));
      fillBatch<D>(everyVoxel_, part.first + first, part.first + last, points,
                   Batch::ofThisThread().fixed.data());
      mapInitial<D>(oneThread, chain, points.list(), points.out());
      std::array<const float*, D> gradients;
      for (int d = 0; d < D; ++d)
        gradients[d] = gradientsOfMoving[d] + first;
      pullBackSlopes<D>(chain, points.list(), slopes + first, gradients, gradientOfStripe);
    }
  });
  stripedGradient_.sum(context, 1);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] += gradientOfSlab_[i];
}

template <int D>
void pullBackSlopes(const TransformChain<D>& chain, const ListSamples<D>& points, const float* slopes,
                    const std::array<const float*, D>& gradientPerMm, std::span<double> gradient)
{
  double covectors[D][batchCapacity];
  Covectors<D> covectorsOfAxes;
  for (int d = 0; d < D; ++d) {
    for (std::size_t i = 0; i < points.count; ++i)
      covectors[d][i] = static_cast<double>(slopes[i]) * gradientPerMm[d][i];
    covectorsOfAxes[d] = covectors[d];
  }
  Context oneThread;
  optimizable(*chain.transform).pullBack(oneThread, points, chain.parameters, covectorsOfAxes, gradient);
}

TESSERA_INSTANTIATE_CLASS(WarpedLattice);
TESSERA_INSTANTIATE_FUNCTIONS(pullBackSlopes<D>);

}
