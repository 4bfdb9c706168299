#include "Components/Transforms/TranslationTransform.h"

#include <algorithm>

namespace tessera {

template <int D>
const ComponentDescription& TranslationTransform<D>::description()
{
  static const ComponentDescription description{"Transform", "TranslationTransform", "T(x) = x + t",
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

TESSERA_INSTANTIATE_CLASS(TranslationTransform);

}
