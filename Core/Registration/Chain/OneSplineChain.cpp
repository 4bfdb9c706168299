#include "Core/Registration/Chain/OneSplineChain.h"

namespace tessera {
namespace {

/// The sum of two maps minus the identity: (HowToCombineTransforms "Add").
template <int D>
AffineMap<D> added(AffineMap<D> map, const AffineMap<D>& other)
{
  for (int d = 0; d < D; ++d) {
    map.offset[d] += other.offset[d];
    for (int e = 0; e < D; ++e)
      map.matrix[d][e] += other.matrix[d][e] - (d == e ? 1 : 0);
  }
  return map;
}

}

template <int D>
std::optional<OneSplineChain<D>> asOneSpline(const TransformChain<D>& chain)
{
  std::optional<OneSplineChain<D>> whole = OneSplineChain<D>{};
  if (chain.initial)
    whole = asOneSpline<D>(*chain.initial);
  if (!whole)
    return {};
  const bool composed = !chain.initial || chain.combination == Combination::compose;
  if (const LinearForm<D>* linear = chain.transform->linear()) {
    const AffineMap<D> map = linear->pointMap(chain.parameters);
    if (composed && whole->spline)
      whole->turn = multiply<D>(map.matrix, whole->turn);
    whole->linear = composed ? compose(map, whole->linear) : added(whole->linear, map);
    return whole;
  }
  if (whole->spline || !chain.transform->field())
    return {};
  whole->spline = &chain;
  if (composed)
    whole->toSpline = whole->linear;
  return whole;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(asOneSpline<D>);

}
