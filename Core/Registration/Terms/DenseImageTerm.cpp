#include "Core/Registration/Terms/DenseImageTerm.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <cmath>
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

/// Copies the intensities of positions [first, first + count) of a box of voxels.
template <int D>
void copyFixed(const VoxelLattice<D>& box, std::size_t first, std::size_t count, float* fixed)
{
  const Size<D>& size = box.image->geometry.size;
  while (count > 0) {
    std::size_t rest = first, offset = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      offset += stride * (box.first[d] + rest % box.count[d]);
      stride *= size[d];
      rest /= box.count[d];
    }
    const std::size_t part = std::min(count, box.count[0] - first % box.count[0]);
    std::copy_n(box.image->voxels.data() + offset, part, fixed);
    fixed += part;
    first += part;
    count -= part;
  }
}

/// The pairs of a batch whose moving intensity is a number, moved to the front of the arrays.
struct PackedPairs {
  float fixed[batchCapacity], moving[batchCapacity];
  std::size_t count = 0;

  PackedPairs(const float* fixedOfAll, const float* movingOfAll, std::size_t all)
  {
    for (std::size_t i = 0; i < all; ++i) {
      fixed[count] = fixedOfAll[i];
      moving[count] = movingOfAll[i];
      count += movingOfAll[i] == movingOfAll[i] ? 1 : 0;
    }
  }
};

}

/// The arrays in which one thread handles a batch of consecutive positions.
template <int D>
struct DenseImageTerm<D>::Batch {
  PointBatch<D> points;
  std::vector<float> fixed = std::vector<float>(batchCapacity);
  std::vector<std::uint8_t> counts = std::vector<std::uint8_t>(batchCapacity);

  static Batch& ofThisThread()
  {
    thread_local Batch batch;
    return batch;
  }
};

template <int D>
DenseImageTerm<D>::DenseImageTerm(const TermLevel<D>& level, const std::optional<Matrix<D>>& gradientMatrix,
                                  Metric& metric, std::size_t maxBytes)
    : level_(level), gradientMatrix_(gradientMatrix), metric_(metric), maxBytes_(maxBytes)
{
}

template <int D>
SampleCount DenseImageTerm<D>::accumulate(Context& context, const Target& target, bool withGradient)
{
  prepare(context, target);
  // All slabs but the last have as many slices as the first.
  metric_.begin(std::max(planOf(slab(0)).stripes, planOf(slab(slabs_ - 1)).stripes));
  SampleCount total;
  for (std::size_t number = 0; number < slabs_; ++number) {
    const Slab part = slab(number);
    const StripePlan plan = planOf(part);
    evaluateField(context, target, part);
    counts_.assign(plan.stripes, {});
    forEachChunk(context, plan.stripes, [&](std::size_t stripe) {
      Batch& batch = Batch::ofThisThread();
      for (std::size_t first = plan.first(stripe); first < plan.last(stripe); first += batchCapacity) {
        const std::size_t last = std::min(first + batchCapacity, plan.last(stripe));
        const SampleCount count = warp(part, first, last, withGradient && slabs_ == 1, batch);
        counts_[stripe] += count;
        const float* moving = movingOrSlopes_.data() + first;
        if (count.valid == last - first) {
          metric_.accumulate(stripe, batch.fixed.data(), moving, count.valid);
        } else if (count.valid > 0) {
          const PackedPairs packed(batch.fixed.data(), moving, last - first);
          metric_.accumulate(stripe, packed.fixed, packed.moving, packed.count);
        }
      }
    });
    for (const SampleCount& count : counts_)
      total += count;
  }
  return total;
}

template <int D>
void DenseImageTerm<D>::pullBack(Context& context, const Target& target, std::span<double> gradient)
{
  std::ranges::fill(gradient, 0.0);
  for (std::size_t number = 0; number < slabs_; ++number) {
    const Slab part = slab(number);
    if (slabs_ > 1) {
      evaluateField(context, target, part);
      warpSlab(context, part, true);
    }
    slopes(context, part);
    std::array<const float*, D> gradientsOfMoving;
    std::ranges::copy(arrays(part), gradientsOfMoving.begin());
    pullBackAlignedField<D>(context, target.method.field.slab(part.firstSlice, part.slices),
                            gradientsOfMoving, movingOrSlopes_.data(), GradientSummation::doublePrecision,
                            gradient.data());
  }
}

/// Cuts the lattice into slabs and allocates the arrays of one slab.
template <int D>
void DenseImageTerm<D>::prepare(Context& context, const Target& target)
{
  if (lattice_ == target.lattice)
    return;
  lattice_ = target.lattice;
  VoxelLattice<D> everyVoxel = target.lattice;
  everyVoxel.mask = nullptr;
  everyVoxel_ = everyVoxel;
  const std::size_t slices = lattice_->count[D - 1], perSlice = lattice_->positions() / slices;
  const std::size_t bytesOfSlice = (D + 1) * sizeof(float) * perSlice;
  const std::size_t most = std::clamp<std::size_t>(maxBytes_ / bytesOfSlice, 1, slices);
  const std::size_t fewest = (slices + most - 1) / most;
  slicesOfSlab_ = static_cast<int>((slices + fewest - 1) / fewest);
  slabs_ = (slices + slicesOfSlab_ - 1) / slicesOfSlab_;
  const std::size_t values = perSlice * slicesOfSlab_;
  requireMemory(static_cast<double>(bytesOfSlice) * slicesOfSlab_
                    + (lattice_->mask ? lattice_->positions() : 0),
                "every voxel of a level of " + extentText(lattice_->count), "a sampler of fewer samples");
  fieldOrGradients_.assign(D * values, 0);
  movingOrSlopes_.assign(values, 0);
  findAsked(context);
}

template <int D>
void DenseImageTerm<D>::findAsked(Context& context)
{
  asked_.assign(lattice_->mask ? lattice_->positions() : 0, 1);
  forEachRange(context, asked_.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    Batch& batch = Batch::ofThisThread();
    fillBatch<D>(everyVoxel_, first, last, batch.points, batch.fixed.data());
    keepInMask<D>(*lattice_->mask, batch.points.list(), asked_.data() + first);
  });
}

template <int D>
typename DenseImageTerm<D>::Slab DenseImageTerm<D>::slab(std::size_t number) const
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
std::array<float*, D> DenseImageTerm<D>::arrays(const Slab& part)
{
  std::array<float*, D> result;
  for (int d = 0; d < D; ++d)
    result[d] = fieldOrGradients_.data() + d * part.count;
  return result;
}

template <int D>
void DenseImageTerm<D>::evaluateField(Context& context, const Target& target, const Slab& part)
{
  target.method.interpolator->displacements(
      context, target.method.field.slab(part.firstSlice, part.slices), {target.parameters.data(), nullptr},
      {fieldOrGradients_.data(), FieldLayout::planar, asked_.empty() ? nullptr : asked_.data() + part.first});
}

/// Takes positions [first, last) of the slab from their displacements to moving intensities and, if asked
/// for, gradients.
template <int D>
SampleCount DenseImageTerm<D>::warp(const Slab& part, std::size_t first, std::size_t last, bool withGradient,
                                    Batch& batch)
{
  const std::size_t count = last - first;
  std::array<float*, D> values = arrays(part);
  for (float*& array : values)
    array += first;
  float* moving = movingOrSlopes_.data() + first;
  if (!asked_.empty()
      && std::ranges::none_of(asked_.data() + part.first + first, asked_.data() + part.first + last,
                              [](std::uint8_t asked) { return asked != 0; })) {
    std::fill_n(moving, count, std::numeric_limits<float>::quiet_NaN());
    for (int d = 0; withGradient && d < D; ++d)
      std::fill_n(values[d], count, 0.0f);
    return {};
  }
  Context oneThread;
  fillBatch<D>(everyVoxel_, part.first + first, part.first + last, batch.points, batch.fixed.data());
  if (level_.chain->initial)
    mapChain<D>(oneThread, *level_.chain->initial, batch.points.list(), batch.points.out());
  for (int d = 0; d < D; ++d)
    addTo(batch.points.mm[d].data(), values[d], count);
  level_.interpolator->evaluate(oneThread, batch.points.list(), moving,
                                withGradient ? values.data() : nullptr, batch.counts.data());
  return keepWhatCounts(part, first, withGradient, batch);
}

/// Finds the samples of a batch that count. The moving intensity of all others becomes NaN, and their
/// gradient zero.
template <int D>
SampleCount DenseImageTerm<D>::keepWhatCounts(const Slab& part, std::size_t first, bool withGradient,
                                              Batch& batch)
{
  const std::size_t count = batch.points.count;
  float* moving = movingOrSlopes_.data() + first;
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
    for (std::size_t i = first; i < first + count; ++i) {
      Vec<D> gradient;
      for (int d = 0; d < D; ++d)
        gradient[d] = gradients[d][i];
      gradient = apply<D>(*gradientMatrix_, gradient);
      for (int d = 0; d < D; ++d)
        gradients[d][i] = static_cast<float>(gradient[d]);
    }
  return found;
}

template <int D>
void DenseImageTerm<D>::warpSlab(Context& context, const Slab& part, bool withGradient)
{
  forEachRange(context, part.count, batchCapacity, [&](std::size_t first, std::size_t last) {
    warp(part, first, last, withGradient, Batch::ofThisThread());
  });
}

/// Times field, interpolation and slopes by running each alone. The metric and the adjoint are what is left
/// of the whole.
template <int D>
std::vector<Phase> DenseImageTerm<D>::timePhases(Context& context, const Target& target,
                                                 std::span<double> gradient)
{
  const bool withGradient = !gradient.empty();
  double values = 0, pulledBack = 0, field = 0, interpolation = 0, ofSlopes = 0;
  addMilliseconds(values, [&] { metric_.finish(accumulate(context, target, withGradient).valid); });
  if (withGradient)
    addMilliseconds(pulledBack, [&] { pullBack(context, target, gradient); });
  for (std::size_t number = 0; number < slabs_; ++number) {
    const Slab part = slab(number);
    addMilliseconds(field, [&] { evaluateField(context, target, part); });
    addMilliseconds(interpolation, [&] { warpSlab(context, part, withGradient); });
    if (withGradient)
      addMilliseconds(ofSlopes, [&] { slopes(context, part); });
  }
  const double warped = field + interpolation;
  const int warps = withGradient && slabs_ > 1 ? 2 : 1;
  std::vector<Phase> phases{{"transform", warps * field},
                            {"interpolation", warps * interpolation},
                            {"metric", std::max(0.0, values - warped) + ofSlopes}};
  if (withGradient)
    phases.push_back({"pull-back", std::max(0.0, pulledBack - ofSlopes - (warps - 1) * warped)});
  return phases;
}

/// Replaces the moving intensities of the slab by slopes; a sample that does not count gets 0.
template <int D>
void DenseImageTerm<D>::slopes(Context& context, const Slab& part)
{
  forEachRange(context, part.count, batchCapacity, [&](std::size_t first, std::size_t last) {
    float* moving = movingOrSlopes_.data() + first;
    float fixed[batchCapacity], slopes[batchCapacity];
    copyFixed<D>(*lattice_, part.first + first, last - first, fixed);
    const PackedPairs packed(fixed, moving, last - first);
    metric_.slopes(packed.fixed, packed.moving, packed.count, slopes);
    for (std::size_t i = 0, next = 0; i < last - first; ++i)
      moving[i] = moving[i] == moving[i] ? slopes[next++] : 0;
  });
}

template class DenseImageTerm<2>;
template class DenseImageTerm<3>;

}
