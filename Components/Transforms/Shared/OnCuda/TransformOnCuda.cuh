#pragma once

#include "Components/Transforms/Shared/OnCuda/BSplineSupportOnCuda.h"
#include "Core/Registration/Chain/SumOfLinks.h"

namespace tessera {

template <int D, int Order>
TESSERA_HOST_DEVICE Vec<D> displacementMm(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
{
  Vec<D> u{};
  SupportOnCuda<D, Order> support;
  if (!support.find(t, pointMm))
    return u;
  const int pointCount = t.pointCount();
  support.forEach([&](int point, double weight) {
    TESSERA_UNROLL
    for (int c = 0; c < D; ++c)
      if (c < t.components())
        u[c] = fma(weight, loadConstant(t.coefficients + c * pointCount + point), u[c]);
  });
  return u;
}

/// T(x) of a transform with landmarks or an image. It is not inlined, so that it takes no registers from the
/// transforms that are evaluated more often.
template <int D>
__device__ __noinline__ Vec<D> mapPointByModel(const TransformOnCuda<D>& t, Vec<D> pointMm)
{
  return t.kind == TransformKind::kernelSpline ? t.kernelSpline()(pointMm) : t.displacementImage()(pointMm);
}

/// T(x) of one transform.
template <int D>
__device__ Vec<D> mapPoint(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
{
  if (t.kind == TransformKind::linear)
    return t.map(pointMm);
  if (t.kind != TransformKind::bspline)
    return mapPointByModel<D>(t, pointMm);
  const Vec<D> u = t.order == 3   ? displacementMm<D, 3>(t, pointMm)
                   : t.order == 2 ? displacementMm<D, 2>(t, pointMm)
                                  : displacementMm<D, 1>(t, pointMm);
  Vec<D> mapped;
#pragma unroll
  for (int d = 0; d < D; ++d)
    mapped[d] = pointMm[d] + u[d];
  return mapped;
}

/// The point after the links 0 to `links` - 1. A link, linkAt(number), is evaluated at `pointMm` if it is
/// added, and at what the links before it make of `pointMm` if it is composed.
template <int D, class LinkAt>
__device__ Vec<D> mapLinks(int links, LinkAt&& linkAt, const Vec<D>& pointMm)
{
  Vec<D> mapped = pointMm;
  for (int number = 0; number < links; ++number) {
    const TransformOnCuda<D>& link = linkAt(number);
    const bool composes = link.combination == Combination::compose;
    const Vec<D> ofLink = mapPoint<D>(link, composes ? mapped : pointMm);
#pragma unroll
    for (int d = 0; d < D; ++d)
      mapped[d] = composes ? ofLink[d] : sumOfLinks(pointMm[d], mapped[d], ofLink[d]);
  }
  return mapped;
}

/// The point after the first `links` of a chain.
template <int D>
__device__ Vec<D> mapFirst(const ChainOnCuda<D>& chain, int links, const Vec<D>& pointMm)
{
  return mapLinks<D>(
      links, [&](int number) -> const TransformOnCuda<D>& { return chain.links[number]; }, pointMm);
}

/// The point at which the chain's last transform is evaluated.
template <int D>
__device__ Vec<D> mapToLast(const ChainOnCuda<D>& chain, const Vec<D>& pointMm)
{
  const bool composes = chain.count > 0 && chain.links[chain.count - 1].combination == Combination::compose;
  return composes ? mapFirst<D>(chain, chain.count - 1, pointMm) : pointMm;
}

template <int D>
__device__ Vec<D> mapChain(const ChainOnCuda<D>& chain, const Vec<D>& pointMm)
{
  return mapFirst<D>(chain, chain.count, pointMm);
}

}
