#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Components/Metrics/Shared/MovingSamples.h"

#include <vector>

namespace tessera {
namespace {

const Parameter<double>& airValue()
{
  static const auto p =
      realParameter("AirValue", -1000, Arity::perLevel, "intensity", "intensity of air, without tissue");
  return p;
}

const Parameter<double>& tissueValue()
{
  static const auto p =
      realParameter("TissueValue", 55, Arity::perLevel, "intensity", "intensity of tissue, without air");
  return p;
}

}

template <int D>
SumSquaredTissueVolumeDifference<D>::SumSquaredTissueVolumeDifference(const Parameters& parameters)
    : parameters_(parameters), validSampleRule_(parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    if (parameters.get(airValue(), level) == parameters.get(tissueValue(), level))
      parameters.fail(tissueValue().name, "the same as AirValue", "Allowed: another intensity");
}

template <int D>
const ComponentDescription& SumSquaredTissueVolumeDifference<D>::description()
{
  static const ComponentDescription description{
      "Metric",
      "SumSquaredTissueVolumeDifference",
      {},
      "mean squared difference of tissue volumes, for lungs in CT (Yin et al. 2009)",
      [] {
        std::vector<ParameterInfo> rows = ValidSampleRule::parameters();
        rows.push_back(airValue());
        rows.push_back(tissueValue());
        return rows;
      }()};
  return description;
}

template <int D>
TermTime SumSquaredTissueVolumeDifference<D>::timeOf(const TermSize& size) const
{
  const double ofLattice = size.isLinear ? (D == 2 ? 18 : 31)
                           : D == 2      ? 75
                                         : 196, // ns a sample; most is the determinant
      ofDrawn = size.isLinear ? (D == 2 ? 41 : 66)
                : D == 2      ? 90
                              : 224;
  return {.points = size.samples, .cpuNanoseconds = (size.isLattice ? ofLattice : ofDrawn) * size.samples};
}

template <int D>
void SumSquaredTissueVolumeDifference<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  level_ = level;
  air_ = parameters_.get(airValue(), level.level);
  tissueOverAir_ = parameters_.get(tissueValue(), level.level) - air_;
  // With no samples, only to throw if a transform has no derivatives.
  chainSpatialDerivatives<D>(context, *level.chain, {}, nullptr, nullptr);
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
    double jacobian[D][D], cofactors[D][D];
    for (int e = 0; e < D * D; ++e)
      jacobian[e / D][e % D] = jacobians[e * n + i];
    const double volume = determinantAndCofactors<D>(jacobian, cofactors), tissue = s.moving[i] - air_,
                 difference = (s.fixed[i] - air_ - volume * tissue) / tissueOverAir_,
                 slope = -2 * difference / tissueOverAir_; // by volume * tissue
    sum += difference * difference;
    for (int e = 0; e < D * D; ++e)
      jacobians[e * n + i] = slope * tissue * cofactors[e / D][e % D];
    for (int d = 0; d < D && !gradient.empty(); ++d)
      covectors.mm[d][i] = slope * volume * s.gradientPerMm[d][i];
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
          const float* fixed,
          std::span<double> ofBatch) { return sumOfSquares(oneThread, chain, points, fixed, ofBatch); };
  const TermValue result = mean_.evaluate(context, samples, chain_(*level_.chain, parameters),
                                          level_.movingMask.get(), gradient, batchSum);
  validSampleRule_.check(level_.level, result.valid, result.asked);
  return result;
}

template class SumSquaredTissueVolumeDifference<2>;
template class SumSquaredTissueVolumeDifference<3>;

}
