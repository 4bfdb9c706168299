#include "Components/Metrics/DisplacementMagnitudePenalty.h"

#include "Core/Compute/Memory/MemoryCount.h"

namespace tessera {
namespace {

template <int D>
double sumOfSquaredDisplacements(Context& context, const TransformChain<D>& chain,
                                 const ListSamples<D>& points, std::span<double> gradient)
{
  thread_local PointBatch<D> mapped, atLast;
  mapped.count = atLast.count = points.count;
  mapChain<D>(context, chain, points, mapped.out());
  double sum = 0;
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < points.count; ++i) {
      const double displacementMm = mapped.mm[d][i] - points.pointMm[d][i];
      sum += displacementMm * displacementMm;
      mapped.mm[d][i] = 2 * displacementMm;
    }
  if (!gradient.empty()) {
    mapInitial<D>(context, chain, points, atLast.out());
    optimizable(*chain.transform)
        .pullBack(context, atLast.list(), chain.parameters, mapped.list().pointMm, gradient);
  }
  return sum;
}

}

template <int D>
const ComponentDescription& DisplacementMagnitudePenalty<D>::description()
{
  static const ComponentDescription description{
      "Metric", "DisplacementMagnitudePenalty",
      "mean of |T(x) - x|^2 in mm^2; registered after a transform, it finds that transform's inverse",
      ValidSampleRule::parameters()};
  return description;
}

template <int D>
void DisplacementMagnitudePenalty<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  level_ = level;
  if constexpr (D < 4) {
    if (!context.onCuda())
      return;
    const MemoryPart part(context, "penalties");
    samples_.emplace(context, level.fixed);
    distances_.emplace(context, level);
    for (const ExpectedSamples<D>& samples : level.expected) {
      if (samples.lattice)
        samples_->reserve(context, *samples.lattice);
      if (samples.withGradient)
        distances_->reserve(context, samples.positions);
    }
  }
}

template <int D>
TermValue DisplacementMagnitudePenalty<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                        std::span<const double> parameters,
                                                        std::span<double> gradient)
{
  return validSampleRule_.checked(
      level_.level, mean_.evaluate(context, samples, chain_(*level_.chain, parameters),
                                   level_.movingMask.get(), gradient, sumOfSquaredDisplacements<D>));
}

TESSERA_INSTANTIATE_CLASS_TO_4(DisplacementMagnitudePenalty);

}
