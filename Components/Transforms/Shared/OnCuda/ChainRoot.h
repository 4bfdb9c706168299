#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainJet.h"
#include "Core/Registration/Inverse/RootSearch.h"

// One root of a chain and what follows from it, for kernels and for tests on the host.
namespace tessera {

/// Any chain, in double precision.
template <int D>
struct ChainMap {
  const ChainOnCuda<D>& chain;

  /// dT/dx, and T(x).
  TESSERA_HOST_DEVICE Matrix<D> operator()(const Vec<D>& pointMm, Vec<D>& imageMm) const
  {
    Jet<D, 1> jet, before;
    jetOfChain<D>(chain, pointMm, jet, before);
    Matrix<D> jacobian;
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      imageMm[k] = jet.pointMm[k];
      TESSERA_UNROLL
      for (int j = 0; j < D; ++j)
        jacobian[k][j] = jet.jacobian[k][j];
    }
    return jacobian;
  }
};

/// Searches from `startMm` for a root of `pointMm`. T and its Jacobian are evaluated together, by a ChainMap
/// or SplineMap. `isBroken` becomes true if T is no number at a finite point.
template <int D, class Map>
TESSERA_HOST_DEVICE Root<D> rootBy(const Map& map, const RootRules<D>& rules, const Vec<D>& pointMm,
                                   const Vec<D>& startMm, bool& isBroken)
{
  using Asks = typename RootSearch<D>::Asks;
  RootSearch<D> search(pointMm, startMm);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  while (search.asks() != Asks::nothing) {
    const bool asksImage = search.asks() == Asks::image;
    Vec<D> imageMm;
    const Matrix<D> jacobian = map(search.atMm(), imageMm);
    if (asksImage)
      search.giveImage(rules, imageMm);
    if (search.asks() == Asks::jacobian && (!asksImage || search.asksAtLastImage()))
      search.giveJacobian(rules, jacobian);
  }
  isBroken = isBroken || search.isBroken();
  return search.root();
}

}
