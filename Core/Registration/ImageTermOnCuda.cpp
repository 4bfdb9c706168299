#include "Core/Registration/ImageTermOnCuda.h"

#include "Core/Compute/VectorOps.h"
#include "Core/Compute/VectorOpsOnCuda.h"
#include "Core/Registration/FieldAdjoint.h"

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

}

template <int D>
ImageTermOnCuda<D>::ImageTermOnCuda(Context& context, const TermLevel<D>& level, const Metric& metric,
                                    const std::optional<Matrix<D>>& gradientMatrix, GradientSummation summation)
    : level_(level), summation_(summation), metric_(metric.onCuda(context)), chain_(context, *level.chain),
      samples_(context, level.fixed), fields_(level, DeviceKind::cuda), result_(context, 1), found_(context, 1)
{
  moving_.image = level.interpolator->onCuda();
  moving_.turnsGradient = gradientMatrix.has_value();
  moving_.gradientMatrix = gradientMatrix.value_or(identityMatrix<D>());
  if (level.movingMask) {
    movingMask_ = voxelsOnCuda<D>(context, level.movingMask);
    moving_.mask = MaskOnCuda<D>(*level.movingMask, *movingMask_);
  }
}

template <int D>
void ImageTermOnCuda<D>::give(Context& context, const SampleSet<D>& set, std::span<const double> parameters,
                              std::span<double> gradient)
{
  const SamplesOnCuda<D> samples = samples_.of(context, set);
  const FieldMethod<D>* aligned = alignedField(set);
  positions_ = samples.count;
  masked_ = samples.asked != nullptr;

  const Plan plan{samples.count, samples.fixed, samples.pointMm[0], samples.image,     samples.asked,
                  samples.first, samples.step,  samples.positions,  parameters.data(), gradient.data()};
  if (recording_ && plan == recorded_)
    return recording_->replay();
  if (plan.count > recorded_.count)
    recording_.reset(); // more samples move the arrays that it works on
  const bool again = plan == last_;
  last_ = plan;
  if (!again || aligned || samples.count > IntensityPairs::mostRecorded || level_.chain->transform->cudaForm() == CudaForm::linear)
    return giveWork(context, samples, aligned, parameters, gradient);
  context.stream->beginRecording(); // of what has run once: it takes no more memory
  giveWork(context, samples, aligned, parameters, gradient);
  recording_ = context.stream->endRecording();
  recorded_ = plan;
  recording_->replay();
}

template <int D>
std::vector<Phase> ImageTermOnCuda<D>::timePhases(Context& context, const SampleSet<D>& set, std::span<const double> parameters,
                                                  std::span<double> gradient)
{
  std::vector<Phase> phases;
  const SamplesOnCuda<D> samples = samples_.of(context, set);
  phases_ = &phases;
  giveWork(context, samples, alignedField(set), parameters, gradient);
  phases_ = nullptr;
  return phases;
}

template <int D>
template <class Work>
void ImageTermOnCuda<D>::phase(Context& context, const char* name, Work&& work)
{
  if (!phases_)
    return work();
  context.stream->startTimer();
  work();
  phases_->push_back({name, context.stream->stopTimerMilliseconds()});
}

template <int D>
void ImageTermOnCuda<D>::giveWork(Context& context, const SamplesOnCuda<D>& samples, const FieldMethod<D>* aligned,
                                  std::span<const double> parameters, std::span<double> gradient)
{
  const ChainOnCuda<D> chain = chain_.at(context, parameters);
  Result* result = result_.span().data();
  context.stream->fill(result, 0, sizeof(Result));
  gather(context, samples, aligned, chain, parameters, !gradient.empty(), result);
  const IntensityPairs pairs{samples.fixed ? samples.fixed : fixed_.span().data(), movingValues_.span().data(), samples.count,
                             samples.fixed && samples.fixed == samples.image};
  phase(context, "metric", [&] {
    metric_->begin(context);
    metric_->accumulate(context, pairs);
    metric_->finish(context, &result->metric);
    if (!gradient.empty())
      metric_->slopes(context, pairs, grown(context, slopes_, samples.count));
  });
  if (!gradient.empty())
    phase(context, "pull-back", [&] { pullBack(context, samples, aligned, chain, gradient, result); });
  found_.copyLater(result);
}

template <int D>
TermValue ImageTermOnCuda<D>::take(std::span<const double> parameters, std::span<double> gradient)
{
  const Result& found = found_[0];
  if (!gradient.empty() && level_.chain->transform->cudaForm() == CudaForm::linear) {
    std::ranges::fill(gradient, 0.0);
    level_.chain->transform->pullBackMoments(parameters, found.moments, gradient);
  }
  return {found.metric.value, found.metric.valid, masked_ ? found.asked : positions_};
}

/// Null if the samples have to go point by point.
template <int D>
const FieldMethod<D>* ImageTermOnCuda<D>::alignedField(const SampleSet<D>& set)
{
  if (const auto* lattice = std::get_if<VoxelLattice<D>>(&set); lattice && lattice_ != *lattice) {
    lattice_ = *lattice;
    displacementsBefore_ = {};
  }
  return fields_.at(set);
}

template <int D>
std::array<float*, D> ImageTermOnCuda<D>::gradientArrays(std::size_t samples)
{
  std::array<float*, D> arrays;
  for (int d = 0; d < D; ++d)
    arrays[d] = gradients_.span().data() + d * samples;
  return arrays;
}

/// T0(x) - x of all positions of the aligned lattice, found once: splines and fields cost more than reading them.
template <int D>
std::span<const float> ImageTermOnCuda<D>::displacementsBefore(Context& context, const SamplesOnCuda<D>& samples)
{
  if (displacementsBefore_.size() == 0) {
    displacementsBefore_ = Buffer<float>(context, D * samples.count);
    context.stream->fill(displacementsBefore_.span().data(), 0, displacementsBefore_.span().size_bytes());
    std::array<float*, D> arrays;
    for (int d = 0; d < D; ++d)
      arrays[d] = displacementsBefore_.span().data() + d * samples.count;
    addDisplacementsOnCuda<D>(context, samples, chain_.before(), arrays);
  }
  return std::as_const(displacementsBefore_).span();
}

template <int D>
void ImageTermOnCuda<D>::gather(Context& context, const SamplesOnCuda<D>& samples, const FieldMethod<D>* aligned,
                                const ChainOnCuda<D>& chain, std::span<const double> parameters, bool withGradient, Result* result)
{
  GatherTarget<D> target;
  target.moving = grown(context, movingValues_, samples.count);
  if (!samples.fixed)
    target.fixed = grown(context, fixed_, samples.count);
  if (withGradient || aligned)
    grown(context, gradients_, D * samples.count);
  if (withGradient)
    target.gradientPerMm = gradientArrays(samples.count);
  if (samples.asked)
    target.asked = &result->asked;
  const bool warps = !samples.isList() && moving_.image.order == 1;
  if (!aligned || !warps) {
    const auto linear = warps ? foldedLinear(chain) : std::nullopt;
    return phase(context, "transform and interpolation", [&] {
      if (linear)
        warpLatticeOnCuda<D>(context, samples, *linear, {}, moving_, target);
      else
        gatherOnCuda<D>(context, samples, chain, moving_, target);
    });
  }
  const std::span<float> coefficients(grown(context, coefficients_, parameters.size()), parameters.size());
  const std::array<float*, D> field = gradientArrays(samples.count);
  const auto before = foldedLinear(chain_.before());
  phase(context, "transform", [&] {
    oncuda::toFloat(context, parameters, coefficients);
    aligned->interpolator->displacements(context, aligned->field, {nullptr, coefficients.data()},
                                         {field[0], FieldLayout::planar, nullptr});
    if (!before)
      oncuda::add(context, displacementsBefore(context, samples), gradients_.span().first(D * samples.count));
  });
  phase(context, "interpolation",
        [&] { warpLatticeOnCuda<D>(context, samples, before.value_or(AffineMap<D>{}), asConst<D>(field), moving_, target); });
}

template <int D>
void ImageTermOnCuda<D>::pullBack(Context& context, const SamplesOnCuda<D>& samples, const FieldMethod<D>* aligned,
                                  const ChainOnCuda<D>& chain, std::span<double> gradient, Result* result)
{
  const std::array<const float*, D> gradients = asConst<D>(gradientArrays(samples.count));
  const float* slopes = slopes_.span().data();
  if (level_.chain->transform->cudaForm() == CudaForm::linear)
    return momentsOnCuda<D>(context, samples, chain, gradients, slopes, grown(context, scratch_, momentScratch<D>()),
                            &result->moments);
  if (aligned) {
    fill(context, 0, gradient);
    return pullBackAlignedField<D>(context, aligned->field, gradients, slopes, summation_, gradient.data());
  }
  pullBack_.add(context, samples, chain, gradients, slopes, gradient, {true});
}

template class ImageTermOnCuda<2>;
template class ImageTermOnCuda<3>;

}
