#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"

#include "Components/Metrics/Shared/MovingSamples.h"
#include "Core/Compute/Memory/MemoryCount.h"

#include <vector>

namespace tessera {
namespace {

const Parameter<double> airValue =
    realParameter("AirValue", -1000, Arity::perLevel, "intensity", "intensity of air, without tissue");

const Parameter<double> tissueValue =
    realParameter("TissueValue", 55, Arity::perLevel, "intensity", "intensity of tissue, without air");

}

template <int D>
SumSquaredTissueVolumeDifference<D>::SumSquaredTissueVolumeDifference(const Parameters& parameters)
    : parameters_(parameters), validSampleRule_(parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    if (parameters.get(airValue, level) == parameters.get(tissueValue, level))
      parameters.fail(tissueValue.name, "the same as AirValue", "Allowed: another intensity");
}

template <int D>
const ComponentDescription& SumSquaredTissueVolumeDifference<D>::description()
{
  static const ComponentDescription description{
      "Metric", "SumSquaredTissueVolumeDifference",
      "mean squared difference of tissue volumes, for lungs in CT (Yin et al. 2009)",
      joinedRows({ValidSampleRule::parameters(), {airValue, tissueValue}})};
  return description;
}

template <int D>
void SumSquaredTissueVolumeDifference<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  level_ = level;
  formula_.air = parameters_.get(airValue, level.level);
  formula_.tissueOverAir = parameters_.get(tissueValue, level.level) - formula_.air;
  // With no samples, only to throw if a transform has no derivatives.
  chainSpatialDerivatives<D>(context, *level.chain, {}, nullptr, nullptr);
  if (!context.onCuda())
    return;
  const MemoryPart part(context, "metric");
  JetSettings<D> settings;
  settings.tissue = formula_;
  penaltyOnCuda_.emplace(context, level, JetFormula::tissueVolume, settings);
  for (const ExpectedSamples<D>& samples : level.expected)
    penaltyOnCuda_->reserve(context, samples);
}

template <int D>
typename MeanOverSamples<D>::ImageSum
SumSquaredTissueVolumeDifference<D>::sumOfSquares(Context& context, const TransformChain<D>& chain,
                                                  const ListSamples<D>& samples, const float* fixed,
                                                  std::span<double> gradient) const
{
  thread_local MovingSamples<D> s;
  thread_local PointBatch<D> covectors;
  thread_local std::vector<double> jacobians(D * D * MeanOverSamples<D>::samplesAtOnce);
  s.gather(context, chain, *level_.interpolator, samples, fixed, !gradient.empty());
  const std::size_t n = s.points.count;
  chainSpatialDerivatives<D>(context, chain, s.points.list(), jacobians.data(), nullptr);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double jacobian[D][D];
    for (int e = 0; e < D * D; ++e)
      jacobian[e / D][e % D] = jacobians[e * n + i];
    const TissueVolume<D> found = formula_.at<D>(s.fixed[i], s.moving[i], jacobian);
    sum += found.penalty;
    for (int e = 0; e < D * D; ++e)
      jacobians[e * n + i] = found.ofJacobian[e / D][e % D];
    for (int d = 0; d < D && !gradient.empty(); ++d)
      covectors.mm[d][i] = found.ofMoving * s.gradientPerMm[d][i];
  }
  if (!gradient.empty() && n > 0) {
    pullBackChainSpatialDerivatives<D>(context, chain, s.points.list(), jacobians.data(), nullptr, gradient);
    s.pullBack(context, chain, covectors, gradient);
  }
  return {sum, n};
}

template <int D>
TermValue SumSquaredTissueVolumeDifference<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                            std::span<const double> parameters,
                                                            std::span<double> gradient)
{
  const typename MeanOverSamples<D>::ImageBatchSum batchSum =
      [&](Context& oneThread, const TransformChain<D>& chain, const ListSamples<D>& points,
          const float* fixed, std::span<double> gradientOfBatch) {
        return sumOfSquares(oneThread, chain, points, fixed, gradientOfBatch);
      };
  return validSampleRule_.checked(level_.level,
                                  mean_.evaluate(context, samples, chain_(*level_.chain, parameters),
                                                 level_.movingMask.get(), gradient, batchSum));
}

TESSERA_INSTANTIATE_CLASS(SumSquaredTissueVolumeDifference);

}
