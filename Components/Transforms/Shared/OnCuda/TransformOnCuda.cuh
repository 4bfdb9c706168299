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

/// mapPoint of a cubic B-spline by four neighbouring lanes. Each sums one slice of control points, and all
/// four get the result.
template <int D>
__device__ Vec<D> mapPointByFour(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
{
  Vec<D> u{};
  SupportOnCuda<D, 3> support;
  if (support.find(t, pointMm)) {
    const int mine = threadIdx.x % 4, pointCount = t.pointCount();
    double ofSlice = 0;
    int slice = 0;
    // A selection instead of an index that is not constant, which would put the arrays into local memory.
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      ofSlice = k == mine ? support.weights[D - 1][k] : ofSlice;
      slice = k == mine ? support.slices[k] : slice;
    }
#pragma unroll
    for (int middle = 0; middle < (D == 3 ? 4 : 1); ++middle) {
      const double ofRow = D == 3 ? support.weights[1][middle] * ofSlice : ofSlice;
      const double* row = t.coefficients + support.first + slice + middle * support.rowStride;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int c = 0; c < D; ++c)
          if (c < t.components())
            u[c] = fma(support.weights[0][k] * ofRow, __ldg(row + c * pointCount + k), u[c]);
      }
    }
  }
  Vec<D> mapped;
#pragma unroll
  for (int c = 0; c < D; ++c) {
    u[c] += __shfl_xor_sync(~0u, u[c], 1);
    u[c] += __shfl_xor_sync(~0u, u[c], 2);
    mapped[c] = pointMm[c] + u[c];
  }
  return mapped;
}

/// The point after transform `t` too, where `mapped` is what the links before it make of `pointMm`. The
/// transform is evaluated at `pointMm` if it is added, and at `mapped` if it is composed, by map(t, point).
template <int D, class Map>
__device__ Vec<D> mapFurther(const TransformOnCuda<D>& t, const Vec<D>& pointMm, const Vec<D>& mapped,
                             const Map& map)
{
  if (t.combination == Combination::compose)
    return map(t, mapped);
  Vec<D> sum = map(t, pointMm);
#pragma unroll
  for (int d = 0; d < D; ++d)
    sum[d] = sumOfLinks(pointMm[d], mapped[d], sum[d]);
  return sum;
}

/// The point after the first `links` of a chain.
template <int D>
__device__ Vec<D> mapFirst(const ChainOnCuda<D>& chain, int links, const Vec<D>& pointMm)
{
  Vec<D> mapped = pointMm;
  for (int link = 0; link < links; ++link)
    mapped =
        mapFurther<D>(chain.links[link], pointMm, mapped,
                      [](const TransformOnCuda<D>& t, const Vec<D>& point) { return mapPoint<D>(t, point); });
  return mapped;
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

/// The same by four neighbouring lanes, for a last transform that is a cubic B-spline. Every lane of the warp
/// must call it.
template <int D>
__device__ Vec<D> mapChainByFour(const ChainOnCuda<D>& chain, const Vec<D>& pointMm)
{
  return mapFurther<D>(
      chain.links[chain.count - 1], pointMm, mapFirst<D>(chain, chain.count - 1, pointMm),
      [](const TransformOnCuda<D>& t, const Vec<D>& point) { return mapPointByFour<D>(t, point); });
}

}
