#include "Testing/Toys/Transforms/StretchTransform.h"

#include <algorithm>

namespace tessera {

template <int D>
StretchTransform<D>::StretchTransform(const Parameters& parameters)
    : LinearTransform<D>(parameters, 2 * D, StartRules::maskAware,
                         LinearTransform<D>::ScaleRule::oneForRotations)
{
}

template <int D>
const ComponentDescription& StretchTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "StretchTransform", "T(x) = S (x - c) + t + c, S a factor for each axis",
      LinearTransform<D>::centeredParameters(StartRules::maskAware)};
  return description;
}

template <int D>
AffineMap<D> StretchTransform<D>::aboutCenter(std::span<const double> parameters) const
{
  AffineMap<D> map;
  for (int axis = 0; axis < D; ++axis) {
    map.matrix[axis].fill(0);
    map.matrix[axis][axis] = parameters[axis];
    map.offset[axis] = parameters[D + axis];
  }
  return map;
}

template <int D>
typename StretchTransform<D>::Derivatives StretchTransform<D>::derivatives(std::span<const double>) const
{
  Derivatives d = this->derivativesOfTranslation();
  for (int axis = 0; axis < D; ++axis)
    d[axis].matrix[axis][axis] = 1;
  return d;
}

template <int D>
std::vector<double> StretchTransform<D>::rotationParameters(const Matrix<D>&) const
{
  std::vector<double> parameters(2 * D, 0.0);
  std::fill_n(parameters.begin(), D, 1.0);
  return parameters;
}

template <int D>
ItkTransform StretchTransform<D>::itkTransform(std::span<const double> parameters) const
{
  std::vector<double> affine(D * D, 0.0); // ITK writes it as the affine transform that it is
  for (int axis = 0; axis < D; ++axis)
    affine[axis * D + axis] = parameters[axis];
  affine.insert(affine.end(), parameters.begin() + D, parameters.end());
  return {this->itkClass("AffineTransform"), this->centerAsVector(), affine};
}

template class StretchTransform<2>;
template class StretchTransform<3>;

}
