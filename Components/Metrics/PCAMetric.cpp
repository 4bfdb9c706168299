#include "Components/Metrics/PCAMetric.h"

namespace tessera {
namespace {

const Parameter<std::int64_t> numEigenValues = integerParameter(
    "NumEigenValues", 6, 1, Arity::perLevel, "",
    "how many of the largest eigenvalues are wanted large; fewer than the times of the series");

}

template <int D>
const ComponentDescription& PCAMetric<D>::description()
{
  static const ComponentDescription description{
      "Metric", "PCAMetric",
      "number of times less the largest eigenvalues of the correlations over time (Huizinga et al. 2016)",
      joinedRows({{numEigenValues}, SeriesTerm<D>::seriesParameters()})};
  return description;
}

template <int D>
void PCAMetric<D>::checkImages(const ImageGeometry<D>& fixed, const ImageGeometry<D>& moving)
{
  CorrelationTerm<D>::checkImages(fixed, moving);
  const Parameters& parameters = this->parameters();
  const auto times = static_cast<std::int64_t>(fixed.size[D - 1]);
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    if (parameters.get(numEigenValues, level) >= times)
      parameters.fail(numEigenValues.name,
                      "the series has " + std::to_string(times)
                          + " times, and the sum of all eigenvalues does not depend on the transform",
                      "Allowed: 1 to " + std::to_string(times - 1) + ", or a series of more times");
}

template <int D>
void PCAMetric<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  CorrelationTerm<D>::prepareForLevel(context, level);
  largest_ = static_cast<std::size_t>(this->parameters().get(numEigenValues, level.level));
}

template <int D>
double PCAMetric<D>::valueOf(std::span<const double> eigenvalues, std::span<double> slopes) const
{
  auto value = static_cast<double>(eigenvalues.size());
  for (std::size_t i = 0; i < eigenvalues.size(); ++i) {
    slopes[i] = i < largest_ ? -1 : 0;
    value += slopes[i] * eigenvalues[i];
  }
  return value;
}

// Series are images of two or three dimensions over time.
template class PCAMetric<3>;
template class PCAMetric<4>;

}
