#include "Core/Registration/Terms/DenseImageTerm.h"

#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

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

template <int D>
DenseImageTerm<D>::DenseImageTerm(const TermLevel<D>& level, const std::optional<Matrix<D>>& gradientMatrix,
                                  PairMetric& metric, std::size_t maxBytes)
    : warped_(level, gradientMatrix, WarpedLattice<D>::Keeps::slab, maxBytes), metric_(metric)
{
}

template <int D>
SampleCount DenseImageTerm<D>::accumulate(Context& context, const Target& target, bool withGradient)
{
  warped_.prepare(context, target.lattice);
  const std::size_t slabs = warped_.slabs();
  // All slabs but the last have as many slices as the first.
  metric_.begin(std::max(planOf(warped_.slab(0)).stripes, planOf(warped_.slab(slabs - 1)).stripes));
  SampleCount total;
  for (std::size_t number = 0; number < slabs; ++number) {
    const Slab part = warped_.slab(number);
    const StripePlan plan = planOf(part);
    warped_.begin(context, target, part);
    counts_.assign(plan.stripes, {});
    forEachChunk(context, plan.stripes, [&](std::size_t stripe) {
      Batch& batch = Batch::ofThisThread();
      for (std::size_t first = plan.first(stripe); first < plan.last(stripe); first += batchCapacity) {
        const std::size_t last = std::min(first + batchCapacity, plan.last(stripe));
        const SampleCount count = warped_.warp(part, first, last, withGradient && slabs == 1, batch);
        counts_[stripe] += count;
        const float* moving = warped_.moving(part) + first;
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
  for (std::size_t number = 0; number < warped_.slabs(); ++number) {
    const Slab part = warped_.slab(number);
    if (warped_.slabs() > 1) {
      warped_.begin(context, target, part);
      warped_.warp(context, part, true);
    }
    slopes(context, part);
    warped_.pullBack(context, target, part, warped_.moving(part), gradient);
  }
}

/// Times field, interpolation and slopes by running each alone. The metric and the adjoint are what is left
/// of the whole.
template <int D>
std::vector<Phase> DenseImageTerm<D>::timePhases(Context& context, const Target& target,
                                                 std::span<double> gradient)
{
  const bool withGradient = !gradient.empty();
  double values = 0, pulledBack = 0, field = 0, interpolation = 0, metricSlopes = 0;
  addMilliseconds(values, [&] { metric_.finish(accumulate(context, target, withGradient).valid); });
  if (withGradient)
    addMilliseconds(pulledBack, [&] { pullBack(context, target, gradient); });
  for (std::size_t number = 0; number < warped_.slabs(); ++number) {
    const Slab part = warped_.slab(number);
    addMilliseconds(field, [&] { warped_.begin(context, target, part); });
    addMilliseconds(interpolation, [&] { warped_.warp(context, part, withGradient); });
    if (withGradient)
      addMilliseconds(metricSlopes, [&] { slopes(context, part); });
  }
  const double warped = field + interpolation;
  const int warps = withGradient && warped_.slabs() > 1 ? 2 : 1;
  std::vector<Phase> phases{{"transform", warps * field},
                            {"interpolation", warps * interpolation},
                            {"metric", std::max(0.0, values - warped) + metricSlopes}};
  if (withGradient)
    phases.push_back({"pull-back", std::max(0.0, pulledBack - metricSlopes - (warps - 1) * warped)});
  return phases;
}

/// Replaces the moving intensities of the slab by slopes; a sample that does not count gets 0.
template <int D>
void DenseImageTerm<D>::slopes(Context& context, const Slab& part)
{
  forEachRange(context, part.count, batchCapacity, [&](std::size_t first, std::size_t last) {
    float* moving = warped_.moving(part) + first;
    float fixed[batchCapacity], slopes[batchCapacity];
    copyFixed<D>(std::get<VoxelLattice<D>>(warped_.everyVoxel()), part.first + first, last - first, fixed);
    const PackedPairs packed(fixed, moving, last - first);
    metric_.slopes(packed.fixed, packed.moving, packed.count, slopes);
    for (std::size_t i = 0, next = 0; i < last - first; ++i)
      moving[i] = moving[i] == moving[i] ? slopes[next++] : 0;
  });
}

TESSERA_INSTANTIATE_CLASS(DenseImageTerm);

}
