#include "Components/Metrics/PCAMetric2.h"

namespace tessera {

template <int D>
const ComponentDescription& PCAMetric2<D>::description()
{
  static const ComponentDescription description{
      "Metric", "PCAMetric2",
      "sum of i times eigenvalue i of the correlations over time (Huizinga et al. 2016)",
      SeriesTerm<D>::seriesParameters()};
  return description;
}

template <int D>
double PCAMetric2<D>::valueOf(std::span<const double> eigenvalues, std::span<double> slopes) const
{
  double value = 0;
  for (std::size_t i = 0; i < eigenvalues.size(); ++i) {
    slopes[i] = static_cast<double>(i + 1);
    value += slopes[i] * eigenvalues[i];
  }
  return value;
}

// Series are images of two or three dimensions over time.
template class PCAMetric2<3>;
template class PCAMetric2<4>;

}
