#include "Components/Transforms/AffineLogStackTransform.h"

namespace tessera {

template <int D>
const ComponentDescription& AffineLogStackTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "AffineLogStackTransform",
      "an AffineLogTransform in space for each time of a series (the last axis is time)",
      LinearStackTransform<D, AffineLogTransform>::rowsOfSlices()};
  return description;
}

// Series are images of two or three dimensions over time.
template class AffineLogStackTransform<3>;
template class AffineLogStackTransform<4>;

}
