#include "Components/Transforms/TranslationStackTransform.h"

namespace tessera {

template <int D>
const ComponentDescription& TranslationStackTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "TranslationStackTransform",
      "a TranslationTransform in space for each time of a series (the last axis is time)",
      LinearStackTransform<D, TranslationTransform>::rowsOfSlices()};
  return description;
}

// Series are images of two or three dimensions over time.
template class TranslationStackTransform<3>;
template class TranslationStackTransform<4>;

}
