#pragma once

#include "Components/Transforms/Shared/Congruence.h"
#include "Components/Transforms/Shared/OnCuda/BSplineSupportOnCuda.h"
#include "Core/Registration/Chain/SumOfLinks.h"

#ifdef __CUDA_ARCH__
#define TESSERA_NOINLINE __noinline__
#else
#define TESSERA_NOINLINE
#endif

namespace tessera {

/// The value and the first derivatives of a map at one point, in mm; with two derivatives the second ones
/// too.
template <int D, int Derivatives = 2>
struct Jet {
  double pointMm[D];
  double jacobian[D][D];                                       // [component][axis]
  double hessian[D][Derivatives == 2 ? symmetricCount(D) : 1]; // [component]; not set with one derivative
};

/// The sum of g_ab h_ab over all D x D entries of two symmetric matrices.
template <int D>
TESSERA_HOST_DEVICE double symmetricProduct(const double* g, const double* h)
{
  double sum = 0;
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    TESSERA_UNROLL
    for (int b = a; b < D; ++b)
      sum = fma((a == b ? 1 : 2) * g[symmetricIndex<D>(a, b)], h[symmetricIndex<D>(a, b)], sum);
  }
  return sum;
}

/// The weights along each axis of the control points in whose support a point lies, and their derivatives by
/// the grid's index.
template <int D, int Order, int Derivatives = 2>
struct JetWeights {
  static constexpr int taps = Order + 1;
  double value[D][taps], first[D][taps], second[D][taps]; // no second ones with one derivative

  TESSERA_HOST_DEVICE explicit JetWeights(const SupportOnCuda<D, Order>& support)
  {
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      TESSERA_UNROLL
      for (int k = 0; k < taps; ++k)
        value[d][k] = support.weights[d][k];
      bsplineDerivatives<Order, double>(support.distance[d], first[d]);
      if constexpr (Derivatives == 2)
        bsplineSecondDerivatives<Order, double>(support.distance[d], second[d]);
    }
  }
};

/// The value, first (g) and, if asked for, second (h) derivatives of one component of a B-spline by the
/// grid's index. Rows along x are summed first, then the rows of a slice, then the slices.
template <int D, int Order, int Derivatives>
TESSERA_HOST_DEVICE void indexDerivatives(const SupportOnCuda<D, Order>& support,
                                          const JetWeights<D, Order, Derivatives>& w, const double* component,
                                          double& value, double* g, double* h)
{
  constexpr int taps = Order + 1, last = D - 1;
  constexpr bool second = Derivatives == 2;
  value = 0;
  for (int d = 0; d < D; ++d)
    g[d] = 0;
  for (int s = 0; second && s < symmetricCount(D); ++s)
    h[s] = 0;
  TESSERA_UNROLL
  for (int l = 0; l < taps; ++l) {
    double slice[3][3] = {}; // [derivatives along x][along y (3D)]
    TESSERA_UNROLL
    for (int m = 0; m < support.middleTaps; ++m) {
      const double* from = component + support.first + support.slices[l] + m * support.rowStride;
      double row[3] = {};
      TESSERA_UNROLL
      for (int k = 0; k < taps; ++k) {
        const double c = loadConstant(from + k);
        row[0] = fma(c, w.value[0][k], row[0]);
        row[1] = fma(c, w.first[0][k], row[1]);
        if constexpr (second)
          row[2] = fma(c, w.second[0][k], row[2]);
      }
      TESSERA_UNROLL
      for (int x = 0; x < (second ? 3 : 2); ++x)
        if constexpr (D == 3) {
          slice[x][0] = fma(row[x], w.value[1][m], slice[x][0]);
          if (x < (second ? 2 : 1))
            slice[x][1] = fma(row[x], w.first[1][m], slice[x][1]);
          if (second && x < 1)
            slice[x][2] = fma(row[x], w.second[1][m], slice[x][2]);
        } else {
          slice[x][0] = row[x];
        }
    }
    const double w0 = w.value[last][l], w1 = w.first[last][l];
    value = fma(slice[0][0], w0, value);
    g[0] = fma(slice[1][0], w0, g[0]);
    g[last] = fma(slice[0][0], w1, g[last]);
    if constexpr (D == 3)
      g[1] = fma(slice[0][1], w0, g[1]);
    if constexpr (second) {
      const double w2 = w.second[last][l];
      h[symmetricIndex<D>(0, 0)] = fma(slice[2][0], w0, h[symmetricIndex<D>(0, 0)]);
      h[symmetricIndex<D>(0, last)] = fma(slice[1][0], w1, h[symmetricIndex<D>(0, last)]);
      h[symmetricIndex<D>(last, last)] = fma(slice[0][0], w2, h[symmetricIndex<D>(last, last)]);
    }
    if constexpr (second && D == 3) {
      h[symmetricIndex<D>(0, 1)] = fma(slice[1][1], w0, h[symmetricIndex<D>(0, 1)]);
      h[symmetricIndex<D>(1, 1)] = fma(slice[0][2], w0, h[symmetricIndex<D>(1, 1)]);
      h[symmetricIndex<D>(1, 2)] = fma(slice[0][1], w1, h[symmetricIndex<D>(1, 2)]);
    }
  }
}

/// The weights of one control point in the D first and in the second derivatives (g and h of
/// indexDerivatives), from its weights along the axes.
template <int D>
TESSERA_HOST_DEVICE void derivativeWeights(const double (&value)[D], const double (&first)[D],
                                           const double (&second)[D],
                                           double (&weights)[D + symmetricCount(D)])
{
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    weights[a] = 1;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      weights[a] *= d == a ? first[d] : value[d];
    TESSERA_UNROLL
    for (int b = a; b < D; ++b) {
      double product = 1;
      TESSERA_UNROLL
      for (int d = 0; d < D; ++d)
        product *= d == a && d == b ? second[d] : d == a || d == b ? first[d] : value[d];
      weights[D + symmetricIndex<D>(a, b)] = product;
    }
  }
}

template <int D>
TESSERA_HOST_DEVICE void gridAxes(const TransformOnCuda<D>& t, double (&axes)[D][D])
{
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j)
      axes[a][j] = t.pointToIndex.fromOffset[a][j];
  } // d index_a / d x_j
}

/// Adds the displacement of a B-spline and its derivatives to those of the identity.
template <int D, int Order, int Derivatives>
TESSERA_HOST_DEVICE void addBSpline(const TransformOnCuda<D>& t, const Vec<D>& pointMm,
                                    Jet<D, Derivatives>& jet)
{
  SupportOnCuda<D, Order> support;
  if (!support.find(t, pointMm))
    return;
  const JetWeights<D, Order, Derivatives> weights(support);
  double axes[D][D];
  gridAxes<D>(t, axes);
  const int pointCount = t.pointCount();
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    if (k >= t.components())
      continue;
    double value, g[D], h[symmetricCount(D)];
    indexDerivatives(support, weights, t.coefficients + k * pointCount, value, g, h);
    jet.pointMm[k] += value;
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j) {
      TESSERA_UNROLL
      for (int a = 0; a < D; ++a)
        jet.jacobian[k][j] = fma(g[a], axes[a][j], jet.jacobian[k][j]);
    }
    if constexpr (Derivatives == 2)
      congruence<D, FusedMultiplyAdd>(h, axes, jet.hessian[k]);
  }
}

/// The jet of a transform with landmarks or an image. It is not inlined, so that it takes no registers from
/// the transforms that are evaluated more often.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE TESSERA_NOINLINE void jetOfModel(const TransformOnCuda<D>& t, Vec<D> pointMm,
                                                     Jet<D, Derivatives>& jet)
{
  Vec<D> mapped;
  double hessian[D][symmetricCount(D)];
  if (t.kind == TransformKind::kernelSpline) {
    const SplineOfLandmarks<D> spline = t.kernelSpline();
    mapped = spline(pointMm);
    spline.derivatives(pointMm, jet.jacobian, hessian);
  } else {
    const DisplacementImage<D> image = t.displacementImage();
    mapped = image(pointMm);
    image.derivatives(pointMm, jet.jacobian, hessian);
  }
  if constexpr (Derivatives == 2) {
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      TESSERA_UNROLL
      for (int s = 0; s < symmetricCount(D); ++s)
        jet.hessian[k][s] = hessian[k][s];
    }
  }
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k)
    jet.pointMm[k] = mapped[k];
}

template <int D, int Derivatives>
TESSERA_HOST_DEVICE void clearHessian(Jet<D, Derivatives>& jet, int component)
{
  if constexpr (Derivatives == 2) {
    TESSERA_UNROLL
    for (int s = 0; s < symmetricCount(D); ++s)
      jet.hessian[component][s] = 0;
  }
}

/// The jet of one transform of a chain, at the point at which the chain evaluates it.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE void jetOf(const TransformOnCuda<D>& t, const Vec<D>& pointMm, Jet<D, Derivatives>& jet)
{
  if (t.kind == TransformKind::kernelSpline || t.kind == TransformKind::displacementImage) {
    Jet<D, Derivatives> own; // in memory: only here
    jetOfModel<D>(t, pointMm, own);
    jet = own;
    return;
  }
  const bool linear = t.kind == TransformKind::linear;
  const Vec<D> mapped = linear ? t.map(pointMm) : pointMm;
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    jet.pointMm[k] = mapped[k];
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j)
      jet.jacobian[k][j] = linear ? t.map.matrix[k][j] : (k == j ? 1 : 0);
    clearHessian(jet, k);
  }
  if (linear)
    return;
  if (t.order == 3)
    addBSpline<D, 3>(t, pointMm, jet);
  else if (t.order == 2)
    addBSpline<D, 2>(t, pointMm, jet);
  else
    addBSpline<D, 1>(t, pointMm, jet);
}

/// jet = outer(jet), by the chain rule: J = J1 J0, H_k = J0^T H1_k J0 + sum over l of J1[k][l] H0_l.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE void composeWith(const Jet<D, Derivatives>& outer, Jet<D, Derivatives>& jet)
{
  const Jet<D, Derivatives> inner = jet;
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    jet.pointMm[k] = outer.pointMm[k];
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j) {
      jet.jacobian[k][j] = 0;
      TESSERA_UNROLL
      for (int l = 0; l < D; ++l)
        jet.jacobian[k][j] = fma(outer.jacobian[k][l], inner.jacobian[l][j], jet.jacobian[k][j]);
    }
    if constexpr (Derivatives == 2) {
      congruence<D, FusedMultiplyAdd>(outer.hessian[k], inner.jacobian, jet.hessian[k]);
      TESSERA_UNROLL
      for (int s = 0; s < symmetricCount(D); ++s) {
        TESSERA_UNROLL
        for (int l = 0; l < D; ++l)
          jet.hessian[k][s] = fma(outer.jacobian[k][l], inner.hessian[l][s], jet.hessian[k][s]);
      }
    }
  }
}

/// jet += other - identity.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE void addTo(const Jet<D, Derivatives>& other, const Vec<D>& pointMm,
                               Jet<D, Derivatives>& jet)
{
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    jet.pointMm[k] = sumOfLinks(pointMm[k], jet.pointMm[k], other.pointMm[k]);
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j)
      jet.jacobian[k][j] += other.jacobian[k][j] - (k == j ? 1 : 0);
    if constexpr (Derivatives == 2) {
      TESSERA_UNROLL
      for (int s = 0; s < symmetricCount(D); ++s)
        jet.hessian[k][s] += other.hessian[k][s];
    }
  }
}

/// The jet of the whole chain at a point, and the jet `before` with which the last transform is composed: its
/// value is the point at which that transform is evaluated. If the last transform is added or alone, `before`
/// is the identity. The chain has at least one transform.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE void jetOfChain(const ChainOnCuda<D>& chain, const Vec<D>& pointMm,
                                    Jet<D, Derivatives>& jet, Jet<D, Derivatives>& before)
{
  for (int k = 0; k < D; ++k) {
    before.pointMm[k] = pointMm[k];
    for (int j = 0; j < D; ++j)
      before.jacobian[k][j] = k == j ? 1 : 0;
    clearHessian(before, k);
  }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (int link = 0; link < chain.count; ++link) {
    const TransformOnCuda<D>& t = chain.links[link];
    const bool adds = link > 0 && t.combination == Combination::add;
    Vec<D> atMm = pointMm;
    if (link > 0 && !adds) {
      for (int d = 0; d < D; ++d)
        atMm[d] = jet.pointMm[d];
      if (link + 1 == chain.count)
        before = jet;
    }
    Jet<D, Derivatives> own;
    jetOf<D>(t, atMm, own);
    if (link == 0)
      jet = own;
    else if (adds)
      addTo<D>(own, pointMm, jet);
    else
      composeWith<D>(own, jet);
  }
}

/// The bending energy of a jet: the sum over components of |H|^2.
template <int D>
TESSERA_HOST_DEVICE double bendingEnergy(const Jet<D>& jet)
{
  double energy = 0;
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k)
    energy += symmetricProduct<D>(jet.hessian[k], jet.hessian[k]);
  return energy;
}

/// The derivative of the energy by J1, the last transform's spatial Jacobian: 2 <H_k, H0_l>.
template <int D>
TESSERA_HOST_DEVICE void bendingCovectorOfJacobian(const Jet<D>& jet, const Jet<D>& before,
                                                   double (&covector)[D][D])
{
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    TESSERA_UNROLL
    for (int l = 0; l < D; ++l)
      covector[k][l] = 2 * symmetricProduct<D>(jet.hessian[k], before.hessian[l]);
  }
}

/// The derivative of the energy by g and h of indexDerivatives, for component k of the last transform, a
/// B-spline: the D entries of g, then the (upper) entries of h.
template <int D>
TESSERA_HOST_DEVICE void bendingCovectorOfIndex(const Jet<D>& jet, const Jet<D>& before,
                                                const double (&axes)[D][D], const double (&ofJacobian)[D][D],
                                                int k, double (&covector)[D + symmetricCount(D)])
{
  double toIndex[D][D]; // [j][a]: d index_a / d x_j, from the chain's point to the last transform's grid
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    covector[a] = 0;
    TESSERA_UNROLL
    for (int l = 0; l < D; ++l)
      covector[a] = fma(axes[a][l], ofJacobian[k][l], covector[a]);
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j) {
      toIndex[j][a] = 0;
      TESSERA_UNROLL
      for (int l = 0; l < D; ++l)
        toIndex[j][a] = fma(axes[a][l], before.jacobian[l][j], toIndex[j][a]);
    }
  }
  congruence<D, FusedMultiplyAdd>(jet.hessian[k], toIndex, covector + D);
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    TESSERA_UNROLL
    for (int b = a; b < D; ++b)
      covector[D + symmetricIndex<D>(a, b)] *= a == b ? 2 : 4;
  }
}

}
