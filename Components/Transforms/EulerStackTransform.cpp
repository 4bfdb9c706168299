#include "Components/Transforms/EulerStackTransform.h"

namespace tessera {

template <int D>
const ComponentDescription& EulerStackTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "EulerStackTransform",
      "an EulerTransform in space for each time of a series (the last axis is time)",
      LinearStackTransform<D, EulerTransform>::rowsOfSlices()};
  return description;
}

// Series are images of two or three dimensions over time.
template class EulerStackTransform<3>;
template class EulerStackTransform<4>;

}
