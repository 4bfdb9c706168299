#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"

#include "Components/Metrics/Shared/FoldingFormula.h"

#include <array>
#include <cmath>
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

/// The samples of a batch that lie in the moving image, in arrays of samplesAtOnce.
template <int D>
struct TissueSamples {
  static constexpr std::size_t capacity = MeanOverSamples<D>::samplesAtOnce;

  PointBatch<D> points, mapped, atLast, covectors;
  std::vector<float> fixed = std::vector<float>(capacity), moving = fixed;
  std::array<std::vector<float>, D> gradient;
  std::vector<std::uint8_t> inside = std::vector<std::uint8_t>(capacity);
  std::vector<double> jacobian = std::vector<double>(D * D * capacity);

  TissueSamples() { gradient.fill(fixed); }

  /// Overwrites all but the covectors and the jacobian.
  void gather(Context& context, const TransformChain<D>& chain, const Interpolator<D>& interpolator,
              const ListSamples<D>& samples, const float* fixedOfSamples, bool withGradient)
  {
    mapped.count = samples.count;
    mapChain<D>(context, chain, samples, mapped.out());
    std::array<float*, D> gradients;
    for (int d = 0; d < D; ++d)
      gradients[d] = gradient[d].data();
    interpolator.evaluate(context, mapped.list(), moving.data(), withGradient ? gradients.data() : nullptr,
                          inside.data());
    std::size_t& kept = points.count = 0;
    for (std::size_t i = 0; i < samples.count; ++i) {
      for (int d = 0; d < D; ++d) {
        points.mm[d][kept] = samples.pointMm[d][i];
        gradient[d][kept] = gradient[d][i];
      }
      fixed[kept] = fixedOfSamples[i];
      moving[kept] = moving[i];
      kept += inside[i] != 0 && !std::isnan(fixed[kept]) && !std::isnan(moving[kept]);
    }
  }
};

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
  thread_local TissueSamples<D> s;
  s.gather(context, chain, *level_.interpolator, samples, fixed, !gradient.empty());
  const std::size_t n = s.points.count;
  chainSpatialDerivatives<D>(context, chain, s.points.list(), s.jacobian.data(), nullptr);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double jacobian[D][D], cofactors[D][D];
    for (int e = 0; e < D * D; ++e)
      jacobian[e / D][e % D] = s.jacobian[e * n + i];
    const double volume = determinantAndCofactors<D>(jacobian, cofactors), tissue = s.moving[i] - air_,
                 difference = (s.fixed[i] - air_ - volume * tissue) / tissueOverAir_,
                 slope = -2 * difference / tissueOverAir_; // by volume * tissue
    sum += difference * difference;
    for (int e = 0; e < D * D; ++e)
      s.jacobian[e * n + i] = slope * tissue * cofactors[e / D][e % D];
    for (int d = 0; d < D && !gradient.empty(); ++d)
      s.covectors.mm[d][i] = slope * volume * s.gradient[d][i];
  }
  if (!gradient.empty() && n > 0) {
    pullBackChainSpatialDerivatives<D>(context, chain, s.points.list(), s.jacobian.data(), nullptr, gradient);
    s.atLast.count = n;
    mapInitial<D>(context, chain, s.points.list(), s.atLast.out());
    optimizable(*chain.transform)
        .pullBack(context, s.atLast.list(), chain.parameters, s.covectors.list().pointMm, gradient);
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
