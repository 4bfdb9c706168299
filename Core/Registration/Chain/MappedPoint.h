#pragma once

#include "Core/Registration/Transform.h"

namespace tessera {

/// Where a chain maps a point of the fixed space, in mm; many points at a time take less by mapChain.
template <int D>
Vec<D> mappedPoint(const TransformChain<D>& chain, Vec<D> pointMm, Context context = {})
{
  ListSamples<D> point;
  PointsOut<D> mapped;
  for (int d = 0; d < D; ++d)
    point.pointMm[d] = mapped[d] = &pointMm[d];
  point.count = 1;
  mapChain<D>(context, chain, point, mapped);
  return pointMm;
}

}
