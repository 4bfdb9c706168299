#include "Components/Metrics/TransformFoldingPenalty.h"

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Core/Compute/Memory/MemoryCount.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

const Parameter<std::int64_t> foldingSampleGridSpacing = integerParameter(
    "FoldingSampleGridSpacing", 3, 1, Arity::perLevel, "voxels",
    "with a sampler that gives a lattice of voxels: every so-manyth of them along each axis is a sample");

const Parameter<double> toleratedVolumeFactor =
    realParameter("ToleratedVolumeFactor", 1, Arity::perLevel, "",
                  "volumes may grow and shrink by this factor without a penalty")
        .atLeast(1)
        .atMost(99); // below 1 / smallVolume

/// Every `step`-th position of a lattice along each axis, centred in it.
template <int D>
VoxelLattice<D> everyNth(VoxelLattice<D> lattice, std::size_t step)
{
  for (int d = 0; d < D; ++d) {
    const std::size_t count = lattice.count[d], offset = (std::min(step, count) - 1) / 2;
    lattice.first[d] += offset * lattice.step[d];
    lattice.step[d] *= step;
    lattice.count[d] = (count - 1 - offset) / step + 1;
  }
  return lattice;
}

template <int D>
double sumOfVolumePenalties(Context& context, const TransformChain<D>& chain, const ListSamples<D>& points,
                            double tolerated, std::span<double> gradient)
{
  thread_local std::vector<double> jacobians(D * D * MeanOverSamples<D>::samplesAtOnce);
  const std::size_t n = points.count;
  chainSpatialDerivatives<D>(context, chain, points, jacobians.data(), nullptr);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double jacobian[D][D], cofactors[D][D];
    for (int e = 0; e < D * D; ++e)
      jacobian[e / D][e % D] = jacobians[e * n + i];
    const VolumePenalty penalty = volumePenalty(determinantAndCofactors<D>(jacobian, cofactors), tolerated);
    sum += penalty.value;
    for (int e = 0; e < D * D; ++e)
      jacobians[e * n + i] = penalty.slope * cofactors[e / D][e % D];
  }
  if (!gradient.empty())
    pullBackChainSpatialDerivatives<D>(context, chain, points, jacobians.data(), nullptr, gradient);
  return sum;
}

}

template <int D>
TransformFoldingPenalty<D>::TransformFoldingPenalty(const Parameters& parameters)
    : validSampleRule_(parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level) {
    steps_.push_back(static_cast<std::size_t>(parameters.get(foldingSampleGridSpacing, level)));
    toleratedLogVolumes_.push_back(std::log(parameters.get(toleratedVolumeFactor, level)));
  }
}

template <int D>
const ComponentDescription& TransformFoldingPenalty<D>::description()
{
  static const ComponentDescription description{
      "Metric", "TransformFoldingPenalty",
      "against folds: mean of the square of log det J, J the transform's spatial Jacobian (Modat et al. "
      "2010)",
      joinedRows({ValidSampleRule::parameters(), {foldingSampleGridSpacing, toleratedVolumeFactor}})};
  return description;
}

template <int D>
double TransformFoldingPenalty<D>::hostBytes(const TermExtent& extent) const
{
  const double step = extent.isLattice ? static_cast<double>(steps_.at(extent.level)) : 1,
               samples = static_cast<double>(extent.positions) / std::pow(step, D),
               before = extent.goesByPoints ? D * D * sizeof(float) * samples : 0,
               stripes = stripeBytes(static_cast<std::size_t>(samples), extent.parameters);
  if (!extent.isLattice)
    return before + stripes;
  // A stripe of a lattice has a slice at least.
  const double slices = std::ceil(std::pow(samples, 1.0 / D));
  return before + std::min(stripes, slices * sizeof(double) * static_cast<double>(extent.parameters));
}

template <int D>
void TransformFoldingPenalty<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  level_ = level;
  // With no samples, only to throw if a transform has no derivatives.
  chainSpatialDerivatives<D>(context, *level.chain, {}, nullptr, nullptr);
  if (!context.onCuda())
    return;
  const MemoryPart part(context, "penalties");
  JetSettings<D> settings;
  settings.tolerated = toleratedLogVolumes_[level.level];
  onCuda_.emplace(context, level, JetFormula::folding, settings);
  for (const ExpectedSamples<D>& samples : level.expected)
    onCuda_->reserve(context, samples.lattice
                                  ? ExpectedSamples<D>(fewer(*samples.lattice), samples.withGradient)
                                  : samples);
}

template <int D>
FoldingLatticeOnCpu<D>* TransformFoldingPenalty<D>::onLattice(const Context& context,
                                                              const SampleSet<D>& samples)
{
  return onLattice_.of(std::get_if<VoxelLattice<D>>(&samples), [&](const auto& lattice, auto& made) {
    if (const auto found = foldingLattice<D>(lattice, level_))
      made.emplace(context, *found, *level_.chain, toleratedLogVolumes_[level_.level]);
  });
}

/// A list of points as it is; of a lattice the positions that count.
template <int D>
const SampleSet<D>& TransformFoldingPenalty<D>::fewer(const SampleSet<D>& samples)
{
  const auto* lattice = std::get_if<VoxelLattice<D>>(&samples);
  if (!lattice)
    return samples;
  fewer_ = everyNth(*lattice, steps_[level_.level]);
  return fewer_;
}

template <int D>
TermValue TransformFoldingPenalty<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                   std::span<const double> parameters,
                                                   std::span<double> gradient)
{
  const SampleSet<D>& used = fewer(samples);
  FoldingLatticeOnCpu<D>* const onLattice = this->onLattice(context, used);
  return validSampleRule_.checked(
      level_.level,
      onLattice ? onLattice->evaluate(context, parameters, gradient)
                : mean_.evaluate(context, used, chain_(*level_.chain, parameters), level_.movingMask.get(),
                                 gradient, [&](auto& c, const auto& chain, const auto& points, auto sum) {
                                   return sumOfVolumePenalties<D>(c, chain, points,
                                                                  toleratedLogVolumes_[level_.level], sum);
                                 }));
}

TESSERA_INSTANTIATE_CLASS(TransformFoldingPenalty);

}
