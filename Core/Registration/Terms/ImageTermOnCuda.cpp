#include "Core/Registration/Terms/ImageTermOnCuda.h"

#include "Core/Compute/Cuda/Range.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Compute/Vectors/VectorOpsOnCuda.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

template <int D>
std::array<const float*, D> asConst(const std::array<float*, D>& arrays)
{
  std::array<const float*, D> result;
  std::copy(arrays.begin(), arrays.end(), result.begin());
  return result;
}

/// Samples that go at a time: all, or those of a slab.
template <int D>
std::size_t atATime(const TermLevel<D>& level, const ExpectedSamples<D>& samples)
{
  if (!samples.lattice || samples.positions == 0)
    return samples.positions;
  return samples.positions / samples.lattice->count[D - 1] * slicesOfSlab(*samples.lattice, level.slabs);
}

/// Whether they are all voxels of the fixed image, whose intensities need no array of their own.
template <int D>
bool isWhole(const TermLevel<D>& level, const ExpectedSamples<D>& samples)
{
  return samples.lattice && samples.lattice->count == samples.lattice->image->geometry.size
         && !level.maskMayCrop;
}

/// The largest number of samples of an evaluation.
template <int D>
std::size_t mostSamples(const TermLevel<D>& level)
{
  std::size_t most = 0;
  for (const ExpectedSamples<D>& samples : level.expected)
    most = std::max(most, samples.positions);
  return most;
}

}

template <int D>
ImageTermOnCuda<D>::ImageTermOnCuda(Context& context, const TermLevel<D>& level, const Metric& metric,
                                    const std::optional<Matrix<D>>& gradientMatrix,
                                    GradientSummation summation)
    : level_(level), summation_(summation),
      onLattice_(dynamic_cast<const LatticeMetric*>(&metric) != nullptr),
      metric_(metric.onCuda(context, mostSamples(level))),
      chain_(passesOnCuda<D>(context, *level.chain)), samples_(context, level.fixed),
      fields_(level, DeviceKind::cuda), results_(context, mostInFlight), found_(context, mostInFlight)
{
  moving_.image = *level.interpolator->onCuda();
  moving_.turnsGradient = gradientMatrix.has_value();
  moving_.gradientMatrix = gradientMatrix.value_or(identityMatrix<D>());
  takeMaskAndMemory(context);
}

template <int D>
ImageTermOnCuda<D>::ImageTermOnCuda(Context& context, const TermLevel<D>& level,
                                    std::unique_ptr<ComparisonOnCuda<D>> comparison,
                                    std::unique_ptr<MetricOnCuda> metric)
    : level_(level), summation_(GradientSummation::fusedMultiplyAdd), onLattice_(false),
      metric_(std::move(metric)), chain_(passesOnCuda<D>(context, *level.chain)),
      comparison_(std::move(comparison)), samples_(context, level.fixed), fields_(level, DeviceKind::cuda),
      results_(context, mostInFlight), found_(context, mostInFlight)
{
  takeMaskAndMemory(context);
}

/// Takes the arrays that an evaluation on these samples works in, as far as they are not there yet.
template <int D>
void ImageTermOnCuda<D>::reserve(Context& context, const ExpectedSamples<D>& samples)
{
  const std::size_t count = atATime(level_, samples), kept = onLattice_ ? samples.positions : count;
  const FieldMethod<D>* aligned = nullptr;
  grown(context, movingValues_, kept);
  if (samples.lattice) {
    samples_.reserve(context, *samples.lattice);
    aligned = alignedField(*samples.lattice);
    if (!isWhole(level_, samples) && !comparison_)
      grown(context, fixed_, kept);
  }
  if (samples.withGradient || aligned || comparison_)
    grown(context, gradients_, D * count);
  if (samples.withGradient)
    grown(context, slopes_, kept);
  if (!aligned)
    chain_->reserve(context, count, samples.withGradient);
  if (!aligned)
    return;
  if (level_.slabs == 1 && !isLinearChain(level_.chain->initial.get()))
    grown(context, displacementsBefore_, D * count);
  const MemoryPart ofField(context, "transform");
  const std::size_t parameters = level_.chain->transform->parameterCount();
  grown(context, coefficients_, parameters);
  if (!onlyCountsMemory(context))
    return;
  grown(context, coefficientsOfMethod_, parameters);
  const MemoryPart ofAdjoint(context, "pull-back");
  const auto slices = static_cast<int>(slicesOfSlab(*samples.lattice, level_.slabs));
  if (samples.withGradient)
    grown(context, partialSums_, adjointBytes<D>(aligned->field.slab(0, slices), summation_));
}

template <int D>
void ImageTermOnCuda<D>::enqueue(Context& context, const SampleSet<D>& set,
                                 std::span<const double> parameters, std::span<double> gradient)
{
  const SamplesOnCuda<D> samples = samples_.of(context, set);
  const FieldMethod<D>* aligned = alignedField(set);
  positions_ = samples.count;
  masked_ = samples.asked != nullptr;

  reserve(context, {set, !gradient.empty()});
  enqueueWork(context, slabsOf(set, samples, aligned), aligned, parameters, gradient);
}

template <int D>
std::vector<Phase> ImageTermOnCuda<D>::timePhases(Context& context, const SampleSet<D>& set,
                                                  std::span<const double> parameters,
                                                  std::span<double> gradient)
{
  std::vector<Phase> phases;
  const SamplesOnCuda<D> samples = samples_.of(context, set);
  const FieldMethod<D>* aligned = alignedField(set);
  reserve(context, {set, !gradient.empty()});
  phases_ = &phases;
  enqueueWork(context, slabsOf(set, samples, aligned), aligned, parameters, gradient);
  phases_ = nullptr;
  return phases;
}

template <int D>
template <class Work>
void ImageTermOnCuda<D>::phase(Context& context, const char* name, Work&& work)
{
  const Range range(name);
  if (!phases_)
    return work();
  context.stream->startTimer();
  work();
  const double milliseconds = context.stream->stopTimerMilliseconds();
  const auto known = std::ranges::find(*phases_, name, &Phase::name);
  if (known != phases_->end())
    known->milliseconds += milliseconds;
  else
    phases_->push_back({name, milliseconds});
}

/// Cuts a lattice into slabs of whole slices along the last axis, in order.
template <int D>
std::vector<typename ImageTermOnCuda<D>::Slab> ImageTermOnCuda<D>::slabsOf(const SamplesOnCuda<D>& samples,
                                                                           const FieldMethod<D>* aligned,
                                                                           std::size_t slices) const
{
  const int all = samples.positions[D - 1], most = static_cast<int>(slices);
  const std::size_t perSlice = samples.count / all;
  std::vector<Slab> slabs;
  for (int first = 0; first < all; first += most) {
    const int count = std::min(most, all - first);
    Slab slab{samples, {}, first == 0, onLattice_ ? perSlice * first : 0};
    slab.samples.count = perSlice * count;
    slab.samples.first[D - 1] += samples.step[D - 1] * first;
    slab.samples.positions[D - 1] = count;
    if (samples.fixed)
      slab.samples.fixed += perSlice * first;
    if (samples.asked)
      slab.samples.asked += perSlice * first;
    if (aligned)
      slab.field = aligned->field.slab(first, count);
    slabs.push_back(slab);
  }
  return slabs;
}

template <int D>
std::vector<typename ImageTermOnCuda<D>::Slab>
ImageTermOnCuda<D>::slabsOf(const SampleSet<D>& set, const SamplesOnCuda<D>& samples,
                            const FieldMethod<D>* aligned) const
{
  const auto* lattice = std::get_if<VoxelLattice<D>>(&set);
  if (lattice && samples.count > 0)
    return slabsOf(samples, aligned, slicesOfSlab(*lattice, level_.slabs));
  return {Slab{samples, {}, true}};
}

template <int D>
void ImageTermOnCuda<D>::enqueueWork(Context& context, const std::vector<Slab>& slabs,
                                     const FieldMethod<D>* aligned, std::span<const double> parameters,
                                     std::span<double> gradient)
{
  chain_->moveTo(context, parameters);
  const FieldInterpolator<D>* interpolator = aligned ? aligned->interpolator.get() : nullptr;
  const bool wantsGradient = !gradient.empty(), whole = slabs.size() == 1;
  Result* result = results_.span().data() + slot_;
  if (slabs.front().samples.asked || level_.chain->transform->linear())
    context.stream->fill(result, 0, sizeof(Result)); // kernels add to the counts and moments in it
  metric_->begin(context);
  const auto pairs = [&](const Slab& slab) {
    return onLattice_ ? latticeOf(slabs, wantsGradient) : pairsOf(slab, whole);
  };
  const auto slopes = [&](const Slab& slab) { metric_->slopes(context, pairs(slab), slopes_.span().data()); };
  for (const Slab& slab : slabs) {
    gather(context, slab, interpolator, parameters, wantsGradient && whole,
           slab.samples.asked ? &result->asked : nullptr);
    phase(context, "metric", [&] {
      const bool isLast = &slab == &slabs.back();
      if (isLast || !onLattice_)
        metric_->accumulate(context, pairs(slab));
      if (!isLast)
        return;
      metric_->finish(context, &result->metric);
      if (wantsGradient && (whole || onLattice_))
        slopes(slab);
    });
  }
  for (const Slab& slab : slabs) {
    if (!wantsGradient)
      break;
    if (!whole) {
      gather(context, slab, interpolator, parameters, true, nullptr);
      if (!onLattice_)
        phase(context, "metric", [&] { slopes(slab); });
    }
    phase(context, "pull-back", [&] { pullBack(context, slab, gradient, result); });
  }
  context.stream->copyLater(&found_[slot_], result, sizeof(Result));
}

/// The intensities of all slabs together.
template <int D>
IntensityPairs ImageTermOnCuda<D>::latticeOf(const std::vector<Slab>& slabs, bool slopesFollow) const
{
  const SamplesOnCuda<D>& first = slabs.front().samples;
  IntensityPairs pairs{first.fixed ? first.fixed : fixed_.span().data(), movingValues_.span().data()};
  pairs.slopesFollow = slopesFollow;
  pairs.size = {1, 1, 1};
  std::ranges::copy(first.positions, pairs.size.begin());
  pairs.size[D - 1] = 0;
  for (const Slab& slab : slabs) {
    pairs.count += slab.samples.count;
    pairs.size[D - 1] += slab.samples.positions[D - 1];
  }
  return pairs;
}

template <int D>
TermValue ImageTermOnCuda<D>::collect(std::span<const double> parameters, std::span<double> gradient)
{
  const Result& found = found_[slot_];
  if (!gradient.empty() && level_.chain->transform->linear()) {
    std::ranges::fill(gradient, 0.0);
    level_.chain->transform->linear()->pullBackMoments(parameters, found.moments, gradient);
  }
  return {found.metric.value, found.metric.valid, masked_ ? found.asked : positions_};
}

/// The method that evaluates the last transform as a field, or null if the samples go point by point.
template <int D>
const FieldMethod<D>* ImageTermOnCuda<D>::alignedField(const SampleSet<D>& set)
{
  if (const auto* lattice = std::get_if<VoxelLattice<D>>(&set); lattice && lattice_ != *lattice) {
    lattice_ = *lattice;
    knowsDisplacementsBefore_ = false;
  }
  return fields_.at(set);
}

/// field += T0(x) - x at the positions of the aligned lattice. Without slabs this is computed once and kept,
/// because reading it takes less time than splines and fields.
template <int D>
void ImageTermOnCuda<D>::addDisplacementsBefore(Context& context, const SamplesOnCuda<D>& samples)
{
  const std::span<float> field = gradients_.span().first(D * samples.count);
  if (level_.slabs > 1)
    return chain_->addDisplacementsBefore(context, samples, gradientArrays(samples.count));
  const std::span<float> before = displacementsBefore_.span().first(field.size());
  if (!knowsDisplacementsBefore_) {
    context.stream->fill(before.data(), 0, before.size_bytes());
    chain_->addDisplacementsBefore(context, samples, planesOf<D>(before.data(), samples.count));
    knowsDisplacementsBefore_ = true;
  }
  oncuda::add(context, before, field);
}

template <int D>
void ImageTermOnCuda<D>::gather(Context& context, const Slab& slab, const FieldInterpolator<D>* interpolator,
                                std::span<const double> parameters, bool withGradient,
                                unsigned long long* asked)
{
  const SamplesOnCuda<D>& samples = slab.samples;
  GatherTarget<D> target;
  target.moving = movingValues_.span().data() + slab.offset;
  if (needsFixed(samples))
    target.fixed = fixed_.span().data() + slab.offset;
  if (withGradient)
    target.gradientPerMm = gradientArrays(samples.count);
  target.asked = asked;
  if (!slab.field || !warps(samples))
    return phase(context, "transform and interpolation",
                 [&] { gatherPoints(context, samples, parameters, target); });
  const std::span<float> coefficients = coefficients_.span().first(parameters.size());
  const std::array<float*, D> field = gradientArrays(samples.count);
  const TransformChain<D>* initial = level_.chain->initial.get();
  const auto before = asLinearMap(initial, initial ? std::span<const double>(initial->parameters)
                                                   : std::span<const double>());
  phase(context, "transform", [&] {
    oncuda::toFloat(context, parameters, coefficients);
    interpolator->displacements(context, *slab.field, {nullptr, coefficients.data()},
                                {field[0], FieldLayout::planar, nullptr});
    if (!before)
      addDisplacementsBefore(context, samples);
  });
  phase(context, "interpolation",
        [&] { warp(context, samples, before.value_or(AffineMap<D>{}), asConst<D>(field), target); });
}

/// Samples whose last transform is not evaluated as a field.
template <int D>
void ImageTermOnCuda<D>::gatherPoints(Context& context, const SamplesOnCuda<D>& samples,
                                      std::span<const double> parameters, const GatherTarget<D>& target)
{
  if (const auto linear = warps(samples) ? asLinearMap(level_.chain, parameters) : std::nullopt)
    return warp(context, samples, *linear, {}, target);
  if (!comparison_)
    return chain_->gather(context, samples, moving_, target);
  const std::array<float*, D> displacements = gradientArrays(samples.count);
  context.stream->fill(displacements[0], 0, D * samples.count * sizeof(float));
  chain_->addDisplacements(context, samples, displacements);
  warp(context, samples, {}, asConst<D>(displacements), target);
}

/// Adds the slab's part to the sums of the slabs before it.
template <int D>
void ImageTermOnCuda<D>::pullBack(Context& context, const Slab& slab, std::span<double> gradient,
                                  Result* result)
{
  const SamplesOnCuda<D>& samples = slab.samples;
  const std::array<const float*, D> gradients = asConst<D>(gradientArrays(samples.count));
  const float* slopes = slopes_.span().data() + slab.offset;
  if (level_.chain->transform->linear())
    return chain_->addMoments(context, samples, gradients, slopes, &result->moments);
  if (slab.field)
    return pullBackAlignedField<D>(context, *slab.field, gradients, slopes, summation_, gradient.data(),
                                   slab.isFirst ? GradientBefore::goes : GradientBefore::stays);
  chain_->pullBack(context, samples, gradients, slopes, gradient, {slab.isFirst});
}

TESSERA_INSTANTIATE_CLASS(ImageTermOnCuda);

}
