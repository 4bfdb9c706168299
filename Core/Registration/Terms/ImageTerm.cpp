#include "Core/Registration/Terms/ImageTerm.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Parallel.h"
#include "Core/Registration/Terms/IntensityRange.h"

#include <algorithm>

namespace tessera {
namespace {

const Parameter<double>& movingImageDerivativeScales()
{
  static const auto parameter =
      realParameter("MovingImageDerivativeScales", 1, Arity::list, "",
                    "factors of the moving image's gradient, one an axis; given for all axes or none");
  return parameter;
}

const Parameter<bool>& scaleGradientWithRespectToMovingImageOrientation()
{
  static const auto parameter =
      booleanParameter("ScaleGradientWithRespectToMovingImageOrientation", false, Arity::single,
                       "MovingImageDerivativeScales are along the moving image's own axes");
  return parameter;
}

const Parameter<bool>& useMultiThreadingForMetrics()
{
  static const auto parameter =
      booleanParameter("UseMultiThreadingForMetrics", true, Arity::single,
                       "accepted; -threads decides, and results do not depend on it");
  return parameter;
}

const Parameter<std::string>& gradientSummation()
{
  static const auto parameter = textParameter("GradientSummation", "FusedMultiplyAdd", Arity::perLevel,
                                              "how CUDA adds up the gradient of a dense B-spline: "
                                              "FusedMultiplyAdd, Kahan, Pichat (single precision) or "
                                              "Double; the CPU adds in double precision");
  return parameter;
}

GradientSummation readGradientSummation(const Parameters& parameters, std::size_t level)
{
  constexpr const char* names[] = {"FusedMultiplyAdd", "Kahan", "Pichat",
                                   "Double"}; // in the enumeration's order
  const std::string name = parameters.get(gradientSummation(), level);
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names))
    parameters.fail(gradientSummation().name, "no such summation: \"" + name + "\"",
                    "Allowed: \"FusedMultiplyAdd\", \"Kahan\", \"Pichat\", \"Double\"");
  return static_cast<GradientSummation>(found - std::begin(names));
}

/// The matrix R diag(scales) R^T that gradients are multiplied by, R the moving image's direction or the
/// identity; nothing if no scales are given.
template <int D>
std::optional<Matrix<D>> gradientMatrix(const Parameters& parameters, const ImageGeometry<D>& moving)
{
  const std::vector<double> scales = parameters.all(movingImageDerivativeScales());
  if (scales.empty())
    return std::nullopt;
  if (scales.size() < D)
    parameters.fail(movingImageDerivativeScales().name, "fewer values than axes",
                    "Allowed: " + std::to_string(D) + " factors, one an axis");
  Matrix<D> scaling{};
  for (int d = 0; d < D; ++d)
    scaling[d][d] = scales[d];
  if (!parameters.get(scaleGradientWithRespectToMovingImageOrientation()))
    return scaling;
  return multiply<D>(moving.direction, multiply<D>(scaling, transpose<D>(moving.direction)));
}

/// One thread's arrays for a batch of samples that need not be kept for pass 2.
template <int D>
ValidSampleArrays<D>& batchOfThisThread()
{
  thread_local ValidSampleArrays<D> arrays;
  arrays.grow(batchCapacity);
  return arrays;
}

}

/// What the stripes of one evaluation share.
template <int D>
struct ImageTerm<D>::Work {
  const SampleSet<D>& samples;
  const TransformChain<D>& chain;
  StripePlan plan;
  bool keeps; // pass 1 gathers gradients too and keeps its samples, so that pass 2 need not gather them again
};

template <int D>
ImageTerm<D>::ImageTerm(const Parameters& parameters, std::unique_ptr<Metric> metric)
    : parameters_(parameters), metric_(std::move(metric)), validSampleRule_(parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    readGradientSummation(parameters, level);
}

template <int D>
void ImageTerm<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  level_ = level;
  const auto turned = gradientMatrix<D>(parameters_, level.moving->geometry);
  gather_.prepareForLevel(level, turned);
  const IntensityRange fixed = intensityRange<D>(context, *level.fixed, level.fixedMask.get(), "fixed image");
  const IntensityRange moving =
      intensityRange<D>(context, *level.moving, level.movingMask.get(), "moving image");
  metric_->prepareForLevel(level.level, {fixed.lowest, fixed.highest, moving.lowest, moving.highest});
  onCuda_.reset();
  fields_.reset();
  dense_.reset();
  if (context.onCuda())
    onCuda_ = std::make_unique<ImageTermOnCuda<D>>(context, level, *metric_, turned,
                                                   readGradientSummation(parameters_, level.level));
  else {
    fields_.emplace(level, DeviceKind::cpu);
    dense_.emplace(level, turned, *metric_);
  }
}

template <int D>
DeviceMemory ImageTerm<D>::deviceMemory(const TermExtent<D>& extent) const
{
  return ImageTermOnCuda<D>::deviceMemory(extent, *metric_, readGradientSummation(parameters_, extent.level));
}

template <int D>
TermValue ImageTerm<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                     std::span<const double> parameters, std::span<double> gradient)
{
  if (!gradient.empty() && !level_.interpolator->hasGradient())
    throw Error(ExitCode::usage,
                parameters_.where("Interpolator")
                    + ": the interpolator has no gradient at order 0, and the optimizer needs one. "
                      "Allowed: BSplineInterpolationOrder 1 to 5.");
  const FieldMethod<D>* field = fields_->at(samples);
  return field ? evaluateDense(context, {std::get<VoxelLattice<D>>(samples), *field, parameters}, gradient)
               : evaluateByPoints(context, samples, parameters, gradient);
}

template <int D>
TermValue ImageTerm<D>::evaluateDense(Context& context, const typename DenseImageTerm<D>::Target& target,
                                      std::span<double> gradient)
{
  const SampleCount count = dense_->accumulate(context, target, !gradient.empty());
  const TermValue result = finish(count);
  if (!gradient.empty())
    dense_->pullBack(context, target, gradient);
  return result;
}

template <int D>
TermValue ImageTerm<D>::evaluateByPoints(Context& context, const SampleSet<D>& samples,
                                         std::span<const double> parameters, std::span<double> gradient)
{
  const std::size_t positions = positionCount<D>(samples);
  const Work work{samples, chain_(*level_.chain, parameters), planStripes(positions, parameters.size()),
                  !gradient.empty() && positions <= maxPositionsKept};
  const std::size_t stripes = work.plan.stripes;
  if (work.keeps)
    kept_.grow(stripes * work.plan.positionsPerStripe);

  counts_.assign(stripes, {});
  metric_->begin(stripes);
  forEachChunk(context, stripes,
               [&](std::size_t stripe) { counts_[stripe] = accumulateStripe(work, stripe); });
  SampleCount total;
  for (const SampleCount& count : counts_) {
    total.asked += count.asked;
    total.valid += count.valid;
  }
  const TermValue result = finish(total);
  if (!gradient.empty()) {
    stripedGradient_.begin(gradient, stripes);
    forEachChunk(context, stripes, [&](std::size_t stripe) { pullBackStripe(work, stripe); });
    stripedGradient_.sum(context, 1);
  }
  return result;
}

template <int D>
TermValue ImageTerm<D>::finish(const SampleCount& count)
{
  validSampleRule_.check(level_.level, count.valid, count.asked);
  return {metric_->finish(count.valid), count.valid, count.asked};
}

template <int D>
void ImageTerm<D>::enqueue(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
                           std::span<double> gradient)
{
  onCuda_->enqueue(context, samples, parameters, gradient);
}

template <int D>
TermValue ImageTerm<D>::collect(std::span<const double> parameters, std::span<double> gradient)
{
  const TermValue result = onCuda_->collect(parameters, gradient);
  validSampleRule_.check(level_.level, result.valid, result.asked);
  return result;
}

template <int D>
std::vector<Phase> ImageTerm<D>::timePhases(Context& context, const SampleSet<D>& samples,
                                            std::span<const double> parameters, std::span<double> gradient)
{
  if (onCuda_)
    return onCuda_->timePhases(context, samples, parameters, gradient);
  if (const FieldMethod<D>* field = fields_->at(samples))
    return dense_->timePhases(context, {std::get<VoxelLattice<D>>(samples), *field, parameters}, gradient);
  return timePhasesOnCpu(samples, parameters, !gradient.empty());
}

/// Pass 1 over one stripe: gathers its samples and adds them to the metric's sums.
template <int D>
SampleCount ImageTerm<D>::accumulateStripe(const Work& work, std::size_t stripe)
{
  const std::size_t begin = work.plan.first(stripe), end = work.plan.last(stripe);
  SampleCount total;
  for (std::size_t first = begin; first < end; first += batchCapacity) {
    const ValidSamples<D> out =
        work.keeps ? kept_.at(begin + total.valid, true) : batchOfThisThread<D>().at(0, false);
    const SampleCount count =
        gather_.gather(work.samples, first, std::min(first + batchCapacity, end), work.chain, out);
    metric_->accumulate(stripe, out.fixed, out.moving, count.valid);
    total.asked += count.asked;
    total.valid += count.valid;
  }
  return total;
}

/// Pass 2 over one stripe: from the metric's slopes to the gradient of the parameters.
template <int D>
void ImageTerm<D>::pullBackStripe(const Work& work, std::size_t stripe)
{
  const std::span<double> gradient = stripedGradient_.clearedStripe(stripe);
  const std::size_t begin = work.plan.first(stripe), end = work.plan.last(stripe);
  if (work.keeps) {
    const std::size_t valid = counts_[stripe].valid;
    for (std::size_t first = 0; first < valid; first += batchCapacity)
      pullBackBatch(kept_.at(begin + first, true), std::min(batchCapacity, valid - first), work.chain,
                    gradient);
    return;
  }
  for (std::size_t first = begin; first < end; first += batchCapacity) {
    const ValidSamples<D> batch = batchOfThisThread<D>().at(0, true);
    const SampleCount count =
        gather_.gather(work.samples, first, std::min(first + batchCapacity, end), work.chain, batch);
    pullBackBatch(batch, count.valid, work.chain, gradient);
  }
}

template <int D>
void ImageTerm<D>::pullBackBatch(const ValidSamples<D>& batch, std::size_t count,
                                 const TransformChain<D>& chain, std::span<double> gradient) const
{
  if (count == 0)
    return;
  float slopes[batchCapacity];
  double covectors[D][batchCapacity];
  metric_->slopes(batch.fixed, batch.moving, count, slopes);
  ListSamples<D> points;
  Covectors<D> covectorsOfAxes;
  points.count = count;
  for (int d = 0; d < D; ++d) {
    for (std::size_t i = 0; i < count; ++i)
      covectors[d][i] = static_cast<double>(slopes[i]) * batch.gradientPerMm[d][i];
    points.pointMm[d] = batch.pointMm[d];
    covectorsOfAxes[d] = covectors[d];
  }
  Context oneThread;
  optimizable(*chain.transform).pullBack(oneThread, points, chain.parameters, covectorsOfAxes, gradient);
}

std::vector<ParameterInfo> imageTermParameters()
{
  std::vector<ParameterInfo> parameters = ValidSampleRule::parameters();
  parameters.push_back(movingImageDerivativeScales());
  parameters.push_back(scaleGradientWithRespectToMovingImageOrientation());
  parameters.push_back(useMultiThreadingForMetrics());
  parameters.push_back(gradientSummation());
  return parameters;
}

template class ImageTerm<2>;
template class ImageTerm<3>;

}
