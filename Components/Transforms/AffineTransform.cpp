#include "Components/Transforms/AffineTransform.h"

#include <algorithm>

namespace tessera {

template <int D>
const ComponentDescription& AffineTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "AffineTransform", "T(x) = A (x - c) + t + c",
      LinearTransform<D>::centeredParameters(StartRules::maskAware)};
  return description;
}

template <int D>
AffineMap<D> AffineTransform<D>::aboutCenter(std::span<const double> parameters) const
{
  AffineMap<D> map;
  for (int row = 0; row < D; ++row) {
    std::copy_n(parameters.begin() + row * D, D, map.matrix[row].begin());
    map.offset[row] = parameters[D * D + row];
  }
  return map;
}

template <int D>
typename AffineTransform<D>::Derivatives AffineTransform<D>::derivatives(std::span<const double>) const
{
  Derivatives d = this->derivativesOfTranslation();
  for (int k = 0; k < D * D; ++k)
    d[k].matrix[k / D][k % D] = 1;
  return d;
}

template <int D>
std::vector<double> AffineTransform<D>::rotationParameters(const Matrix<D>& rotation) const
{
  std::vector<double> parameters(D * D + D, 0.0);
  for (int row = 0; row < D; ++row)
    std::ranges::copy(rotation[row], parameters.begin() + row * D);
  return parameters;
}

TESSERA_INSTANTIATE_CLASS(AffineTransform);

}
