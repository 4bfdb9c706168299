#include "Components/Metrics/SumOfPairwiseCorrelationCoefficientsMetric.h"

#include <cmath>

namespace tessera {

template <int D>
const ComponentDescription& SumOfPairwiseCorrelationCoefficientsMetric<D>::description()
{
  static const ComponentDescription description{
      "Metric", "SumOfPairwiseCorrelationCoefficientsMetric",
      "1 minus the Frobenius norm of the correlations over time, a share of its largest value",
      SeriesTerm<D>::seriesParameters()};
  return description;
}

template <int D>
double SumOfPairwiseCorrelationCoefficientsMetric<D>::valueOf(std::span<const double> eigenvalues,
                                                              std::span<double> slopes) const
{
  double squares = 0;
  for (const double eigenvalue : eigenvalues)
    squares += eigenvalue * eigenvalue;
  const double norm = std::sqrt(squares), times = static_cast<double>(eigenvalues.size());
  for (std::size_t i = 0; i < eigenvalues.size(); ++i)
    slopes[i] = -eigenvalues[i] / (times * norm);
  return 1 - norm / times;
}

// Series are images of two or three dimensions over time.
template class SumOfPairwiseCorrelationCoefficientsMetric<3>;
template class SumOfPairwiseCorrelationCoefficientsMetric<4>;

}
