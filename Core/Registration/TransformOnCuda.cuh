#pragma once

#include "Core/Registration/BSplineSupportOnCuda.h"

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

/// T(x) of one transform.
template <int D>
__device__ Vec<D> mapPoint(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
{
  if (t.form == CudaForm::linear)
    return t.map(pointMm);
  const Vec<D> u = t.order == 3   ? displacementMm<D, 3>(t, pointMm)
                   : t.order == 2 ? displacementMm<D, 2>(t, pointMm)
                                  : displacementMm<D, 1>(t, pointMm);
  Vec<D> mapped;
#pragma unroll
  for (int d = 0; d < D; ++d)
    mapped[d] = pointMm[d] + u[d];
  return mapped;
}

/// `mapped` after `t` too, which is asked at `pointMm` if it is added, else at `mapped`.
template <int D>
__device__ Vec<D> mapFurther(const TransformOnCuda<D>& t, const Vec<D>& pointMm, const Vec<D>& mapped)
{
  if (t.combination == Combination::compose)
    return mapPoint<D>(t, mapped);
  Vec<D> sum = mapPoint<D>(t, pointMm);
#pragma unroll
  for (int d = 0; d < D; ++d)
    sum[d] += mapped[d] - pointMm[d];
  return sum;
}

/// Where the chain's last transform is asked.
template <int D>
__device__ Vec<D> mapToLast(const ChainOnCuda<D>& chain, const Vec<D>& pointMm)
{
  if (chain.count == 0 || chain.links[chain.count - 1].combination == Combination::add)
    return pointMm;
  Vec<D> mapped = pointMm;
  for (int link = 0; link + 1 < chain.count; ++link)
    mapped = mapFurther<D>(chain.links[link], pointMm, mapped);
  return mapped;
}

template <int D>
__device__ Vec<D> mapChain(const ChainOnCuda<D>& chain, const Vec<D>& pointMm)
{
  Vec<D> mapped = pointMm;
  for (int link = 0; link < chain.count; ++link)
    mapped = mapFurther<D>(chain.links[link], pointMm, mapped);
  return mapped;
}

}
