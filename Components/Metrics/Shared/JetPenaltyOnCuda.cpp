#include "Components/Metrics/Shared/JetPenaltyOnCuda.h"

#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t samplesAtOnce = std::size_t(1) << 20; // at most 240 MiB of covectors in 3D

}

template <int D>
FoldingLatticeOnCuda<D>* JetPenaltyOnCuda<D>::onLattice(const Context& context,
                                                        const VoxelLattice<D>* lattice)
{
  if (formula_ != JetFormula::folding)
    return nullptr;
  return onLattice_.of(lattice, [&](const auto& asked, auto& made) {
    if (const auto found = FoldingLatticeOnCuda<D>::latticeOf(asked, level_))
      made.emplace(context, *found, settings_.tolerated);
  });
}

template <int D>
void JetPenaltyOnCuda<D>::reserve(const Context& context, const ExpectedSamples<D>& samples)
{
  const Transform<D>& last = *level_.chain->transform;
  const std::size_t parameters = last.parameterCount(), landmarks = parameters / D;
  if (samples.lattice)
    samples_.reserve(context, *samples.lattice);
  if (formula_ == JetFormula::tissueVolume) {
    grown(context, moving_, samples.positions);
    if (samples.withGradient) {
      grown(context, gradients_, D * samples.positions);
      pullBack_.reserve(context, kernelFormOf(last)->kind(), parameters, samples.positions);
    }
  }
  if (onLattice(context, samples.lattice ? &*samples.lattice : nullptr) || last.linear()
      || !samples.withGradient)
    return;
  grown(context, covectors_, jetCovectors<D>(formula_) * std::min(samplesAtOnce, samples.positions));
  if (kernelFormOf(last)->kind() == TransformKind::kernelSpline) {
    grown(context, splineScratch_, splineScratch<D>(landmarks));
    grown(context, splineSums_, (landmarks + D + 1) * D);
  } else if (sums_.size() < parameters) {
    grown(context, sums_, parameters);
    context.stream->fill(sums_.span().data(), 0, sums_.span().size_bytes());
  }
}

template <int D>
void JetPenaltyOnCuda<D>::enqueue(Context& context, const SampleSet<D>& set,
                                  std::span<const double> parameters, std::span<double> gradient)
{
  reserve(context, {set, !gradient.empty()});
  const SamplesOnCuda<D> samples = samples_.of(context, set);
  const ChainOnCuda<D> chain = chain_.at(context, parameters);
  const bool linear = level_.chain->transform->linear() != nullptr;
  const bool spline = kernelFormOf(*level_.chain->transform)->kind() == TransformKind::kernelSpline;
  const JetGradient wanted = gradient.empty() ? JetGradient::none
                             : linear         ? JetGradient::ofLinear
                                              : JetGradient::byCovectors;
  double* const covectors = wanted == JetGradient::byCovectors ? covectors_.span().data() : nullptr;
  JetSums<D>* result = result_.span().data();
  context.stream->fill(result, 0, sizeof *result);
  if (FoldingLatticeOnCuda<D>* const lattice = onLattice(context, std::get_if<VoxelLattice<D>>(&set))) {
    lattice->enqueue(context, samples, chain, chain_.before(), scratch_.span().data(), gradient, result);
    found_.copyLater(result);
    return;
  }
  const bool seesImages = formula_ == JetFormula::tissueVolume;
  if (seesImages)
    gather(context, samples, chain, !gradient.empty());
  SampleChunk chunk;
  do {
    chunk.count = std::min(samplesAtOnce, samples.count - chunk.first);
    const bool isFirst = chunk.first == 0, isLast = chunk.first + chunk.count == samples.count;
    jetPenaltyOnCuda<D>(context, formula_, settings_, samples, chunk, chain,
                        seesImages ? MaskOnCuda<D>{} : movingMask_, wanted, scratch_.span().data(), covectors,
                        result);
    if (covectors && spline)
      pullBackToSpline(context, chunk, chain, covectors, isLast, gradient);
    else if (covectors)
      pullBackJetsOnCuda<D>(context, formula_, chunk, chain, covectors, result, isFirst,
                            isLast && !seesImages, sums_.span().data(), gradient.data());
    chunk.first += chunk.count;
  } while (chunk.first < samples.count);
  if (seesImages && !gradient.empty())
    pullBackMoving(context, samples, chain, gradient);
  found_.copyLater(result);
}

/// The moving image at all mapped samples, for tissue volumes.
template <int D>
void JetPenaltyOnCuda<D>::gather(Context& context, const SamplesOnCuda<D>& samples,
                                 const ChainOnCuda<D>& chain, bool withGradient)
{
  MovingOnCuda<D> moving{.image = *level_.interpolator->onCuda(), .mask = movingMask_};
  GatherTarget<D> target;
  settings_.moving = target.moving = moving_.span().data();
  for (int d = 0; d < D && withGradient; ++d)
    target.gradientPerMm[d] = gradients_.span().data() + d * samples.count;
  settings_.gradientPerMm = target.gradientPerMm;
  gatherOnCuda<D>(context, samples, chain, moving, target);
}

/// Adds the derivatives through the moving image, and divides the whole by the number of valid samples.
template <int D>
void JetPenaltyOnCuda<D>::pullBackMoving(Context& context, const SamplesOnCuda<D>& samples,
                                         const ChainOnCuda<D>& chain, std::span<double> gradient)
{
  JetSums<D>* result = result_.span().data();
  std::array<const float*, D> covectors;
  std::ranges::copy(settings_.gradientPerMm, covectors.begin());
  if (level_.chain->transform->linear())
    return momentsOnCuda<D>(context, samples, chain, covectors, nullptr, scratch_.span().data(),
                            &result->moments);
  pullBack_.add(context, samples, chain, covectors, nullptr, gradient, {false, result->valid()});
}

/// Adds the chunk's part to integer sums; after the last chunk they become the gradient.
template <int D>
void JetPenaltyOnCuda<D>::pullBackToSpline(Context& context, const SampleChunk& chunk,
                                           const ChainOnCuda<D>& chain, const double* covectors, bool isLast,
                                           std::span<double> gradient)
{
  const TransformOnCuda<D>& spline = chain.links[chain.count - 1];
  double* sums = splineSums_.span().data();
  sumSplineDerivativeCovectorsOnCuda<D>(context, spline, chunk.count, covectors, covectors + D * chunk.count,
                                        formula_ == JetFormula::bendingEnergy,
                                        isThroughJacobian(formula_, chain), splineScratch_.span().data(),
                                        sums, chunk.first == 0);
  if (isLast)
    splineGradientOnCuda<D>(
        context, spline, sums, gradient.data(),
        {true, formula_ == JetFormula::tissueVolume ? nullptr : result_.span().data()->valid()});
}

template <int D>
TermValue JetPenaltyOnCuda<D>::collect(std::span<const double> parameters, std::span<double> gradient) const
{
  const JetSums<D>& found = found_[0];
  const Transform<D>& last = *level_.chain->transform;
  const double perSample = *found.valid() == 0 ? 0 : 1 / *found.valid();
  if (!gradient.empty() && last.linear()) {
    CovectorMoments<D> moments = found.moments; // only the matrix changes spatial derivatives
    for (int row = 0; row < D; ++row) {
      moments.sum[row] *= perSample;
      for (int column = 0; column < D; ++column)
        moments.outer[row][column] = perSample * (moments.outer[row][column] + found.ofMatrix(row, column));
    }
    std::ranges::fill(gradient, 0.0);
    last.linear()->pullBackMoments(parameters, moments, gradient);
  }
  return {perSample * found.penalty(), static_cast<std::size_t>(*found.valid()),
          static_cast<std::size_t>(found.asked())};
}

TESSERA_INSTANTIATE_CLASS(JetPenaltyOnCuda);

}
