#include "Components/Transforms/TranslationTransform.h"

#include <algorithm>

namespace tessera {

template <int D>
TranslationTransform<D>::TranslationTransform(const Parameters& parameters)
    : LinearTransform<D>(parameters, D, StartRules::translation, LinearTransform<D>::ScaleRule::none)
{
}

template <int D>
const ComponentDescription& TranslationTransform<D>::description()
{
  static const ComponentDescription description{"Transform",
                                                "TranslationTransform",
                                                {},
                                                "T(x) = x + t",
                                                initializationParameters(StartRules::translation)};
  return description;
}

template <int D>
AffineMap<D> TranslationTransform<D>::aboutCenter(std::span<const double> parameters) const
{
  AffineMap<D> map;
  std::copy_n(parameters.begin(), D, map.offset.begin());
  return map;
}

template <int D>
typename TranslationTransform<D>::Derivatives
TranslationTransform<D>::derivatives(std::span<const double>) const
{
  Derivatives d = this->noDerivatives();
  for (int axis = 0; axis < D; ++axis)
    d[axis].offset[axis] = 1;
  return d;
}

template <int D>
std::vector<double> TranslationTransform<D>::rotationParameters(const Matrix<D>&) const
{
  return std::vector<double>(D, 0.0);
}

template <int D>
std::size_t TranslationTransform<D>::translationIndex() const
{
  return 0;
}

template <int D>
std::vector<double> TranslationTransform<D>::defaultScales() const
{
  return std::vector<double>(D, 1.0);
}

template <int D>
ItkTransform TranslationTransform<D>::itkTransform(std::span<const double> parameters) const
{
  return {this->itkClass("TranslationTransform"), {}, {parameters.begin(), parameters.end()}};
}

template class TranslationTransform<2>;
template class TranslationTransform<3>;

}
