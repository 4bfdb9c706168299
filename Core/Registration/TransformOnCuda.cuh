#pragma once

#include "Core/Compute/BSplineKernel.h"
#include "Core/Registration/TransformOnCuda.h"

namespace tessera {

/// The control points that carry a point, and their weights. Found by the CPU's expressions, so that both agree on which.
template <int D, int Order>
struct SupportOnCuda {
  static constexpr int taps = Order + 1;
  double weights[D][taps];
  int first;            // control point, along all axes but the last
  int layers[taps];     // offsets of the layers along the last axis, wrapped if the grid is cyclic
  int rowStride;        // of control points along y (3D)

  /// False if the support is not fully inside the grid, or the point is not a number.
  __device__ bool find(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
  {
    Vec<D> x = t.pointToIndex(pointMm);
    int start[D];
    bool inside = true;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      x[d] -= firstKnotOffset<Order>();
      const bool wraps = t.cyclic && d == D - 1;
      if (wraps) {
        const double period = t.points[d];
        x[d] -= period * floor(x[d] / period);
        x[d] = x[d] >= period ? 0 : x[d];
      }
      inside = inside && x[d] >= 0 && (x[d] < t.points[d] - Order || wraps);
    }
    if (!inside)
      return false;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      start[d] = static_cast<int>(x[d]);
      bsplineWeights<Order, double>(x[d] - start[d] + firstKnotOffset<Order>(), weights[d]);
    }
    rowStride = D == 3 ? t.points[0] : 0;
    first = start[0] + (D == 3 ? start[1] * t.points[0] : 0);
    const int layerStride = D == 3 ? t.points[0] * t.points[1] : t.points[0];
#pragma unroll
    for (int k = 0; k < taps; ++k) {
      const int layer = start[D - 1] + k;
      layers[k] = (layer < t.points[D - 1] ? layer : layer - t.points[D - 1]) * layerStride;
    }
    return true;
  }

  /// Calls visit(control point, weight) for all of them.
  template <class Visit>
  __device__ void forEach(Visit&& visit) const
  {
#pragma unroll
    for (int last = 0; last < taps; ++last)
#pragma unroll
      for (int middle = 0; middle < (D == 3 ? taps : 1); ++middle) {
        const double ofRow = D == 3 ? weights[1][middle] * weights[D - 1][last] : weights[D - 1][last];
        const int row = first + layers[last] + middle * rowStride;
#pragma unroll
        for (int k = 0; k < taps; ++k)
          visit(row + k, weights[0][k] * ofRow);
      }
  }
};

/// Not inlined: kernels that map by linear transforms alone should not pay for its registers.
template <int D, int Order>
__device__ __noinline__ Vec<D> displacementMm(const TransformOnCuda<D>& t, const Vec<D>& pointMm)
{
  Vec<D> u{};
  SupportOnCuda<D, Order> support;
  if (!support.find(t, pointMm))
    return u;
  const int pointCount = t.pointCount();
  support.forEach([&](int point, double weight) {
#pragma unroll
    for (int c = 0; c < D; ++c)
      u[c] = fma(weight, __ldg(t.coefficients + c * pointCount + point), u[c]);
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
