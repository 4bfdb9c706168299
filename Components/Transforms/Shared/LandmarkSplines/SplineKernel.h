#pragma once

#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Compute/Math/SmallMatrix.h"

#include <cmath>
#include <cstddef>
#include <type_traits>

// T(x) = x + A x + b + sum over landmarks of G(x - p_i) w_i: thin-plate splines and similar ones.
namespace tessera {

enum class SplineKernel { thinPlate, thinPlateR2LogR, volume, elasticBody, elasticBodyReciprocal };

/// G(x) = f(r) I + g(r) x x^T, and the terms of its derivatives: f1 = f'/r, f2 = f1'/r, and the same for g.
/// Terms that are singular at r = 0 are zero there.
struct RadialTerms {
  double f = 0, f1 = 0, f2 = 0, g = 0, g1 = 0, g2 = 0;
};

TESSERA_HOST_DEVICE constexpr bool hasOuterProduct(SplineKernel kernel)
{
  return kernel == SplineKernel::elasticBody || kernel == SplineKernel::elasticBodyReciprocal;
}

/// The sign of w^T K w, where K is the matrix of G between landmarks and w are weights with P^T w = 0 (the
/// columns of P are the coordinates and 1). Smoothing adds a multiple of I that has this sign.
template <int D>
constexpr double kernelSign(SplineKernel kernel)
{
  const bool isNegative =
      D == 3 && (kernel == SplineKernel::thinPlate || kernel == SplineKernel::elasticBodyReciprocal);
  return isNegative ? -1 : 1;
}

/// The constant alpha of the elastic kernels for a Poisson ratio.
inline double elasticAlpha(SplineKernel kernel, double poissonRatio)
{
  return (kernel == SplineKernel::elasticBody ? 12 : 8) * (1 - poissonRatio) - 1;
}

template <SplineKernel Kernel>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE RadialTerms radialTerms(double squaredDistance, double alpha)
{
  const double r = std::sqrt(squaredDistance);
  const double inverse = r > 1e-8 ? 1 / r : 0;
  if constexpr (Kernel == SplineKernel::thinPlate) {
    return {r, inverse, -inverse * inverse * inverse, 0, 0, 0};
  } else if constexpr (Kernel == SplineKernel::thinPlateR2LogR) {
    const double logarithm = r > 1e-8 ? std::log(r) : 0;
    return {squaredDistance * logarithm, r > 1e-8 ? 2 * logarithm + 1 : 0, 2 * inverse * inverse, 0, 0, 0};
  } else if constexpr (Kernel == SplineKernel::volume) {
    return {squaredDistance * r, 3 * r, 3 * inverse, 0, 0, 0};
  } else if constexpr (Kernel == SplineKernel::elasticBody) {
    const double cubed = inverse * inverse * inverse;
    return {alpha * squaredDistance * r, 3 * alpha * r, 3 * alpha * inverse, -3 * r, -3 * inverse, 3 * cubed};
  } else {
    const double cubed = inverse * inverse * inverse;
    return {alpha * r, alpha * inverse, -alpha * cubed, -inverse, cubed, -3 * cubed * inverse * inverse};
  }
}

/// sum += G(x) w.
template <int D, SplineKernel Kernel>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void addKernel(const Vec<D>& x, const Vec<D>& w, double alpha,
                                                         Vec<D>& sum)
{
  double squared = 0, along = 0;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d) {
    squared += x[d] * x[d];
    along += x[d] * w[d];
  }
  const RadialTerms radial = radialTerms<Kernel>(squared, alpha);
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    sum[k] += radial.f * w[k];
    if constexpr (hasOuterProduct(Kernel))
      sum[k] += radial.g * x[k] * along;
  }
}

/// The derivative of component k of G(x) w by x_j, where s = x . w.
template <int D, SplineKernel Kernel>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double jacobianEntry(const RadialTerms& t, const Vec<D>& x,
                                                               const Vec<D>& w, double s, int k, int j)
{
  double entry = t.f1 * x[j] * w[k];
  if constexpr (hasOuterProduct(Kernel))
    entry += t.g1 * x[j] * x[k] * s + t.g * ((j == k ? s : 0.0) + x[k] * w[j]);
  return entry;
}

/// Adds the first and second derivatives of G(x) w; h has the layout of Transform::spatialDerivatives for one
/// sample.
template <int D, SplineKernel Kernel>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void addKernelDerivatives(const Vec<D>& x, const Vec<D>& w,
                                                                    double alpha, double (&jacobian)[D][D],
                                                                    double (&h)[D][D * (D + 1) / 2])
{
  double squared = 0, s = 0;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d) {
    squared += x[d] * x[d];
    s += x[d] * w[d];
  }
  const RadialTerms t = radialTerms<Kernel>(squared, alpha);
  const auto delta = [](int a, int b) { return a == b ? 1.0 : 0.0; };
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j)
      jacobian[k][j] += jacobianEntry<D, Kernel>(t, x, w, s, k, j);
    TESSERA_UNROLL
    for (int i = 0; i < D; ++i) {
      TESSERA_UNROLL
      for (int j = i; j < D; ++j)
        h[k][i * D - i * (i - 1) / 2 + j - i] +=
            (t.f2 * x[i] * x[j] + t.f1 * delta(i, j)) * w[k] + t.g2 * x[i] * x[j] * x[k] * s
            + t.g1
                  * (delta(i, j) * x[k] * s + delta(i, k) * x[j] * s + delta(j, k) * x[i] * s
                     + x[j] * x[k] * w[i] + x[i] * x[k] * w[j])
            + t.g * (delta(j, k) * w[i] + delta(i, k) * w[j]);
    }
  }
}

/// Calls body with the kernel as a constant; 2D has only one kernel.
template <int D, class Body>
TESSERA_HOST_DEVICE void withKernel(SplineKernel kernel, Body&& body)
{
  using enum SplineKernel;
  if constexpr (D == 2) {
    body(std::integral_constant<SplineKernel, thinPlateR2LogR>{});
  } else {
    switch (kernel) {
    case thinPlate:
      return body(std::integral_constant<SplineKernel, thinPlate>{});
    case thinPlateR2LogR:
      return body(std::integral_constant<SplineKernel, thinPlateR2LogR>{});
    case volume:
      return body(std::integral_constant<SplineKernel, volume>{});
    case elasticBody:
      return body(std::integral_constant<SplineKernel, elasticBody>{});
    case elasticBodyReciprocal:
      return body(std::integral_constant<SplineKernel, elasticBodyReciprocal>{});
    }
  }
}

template <std::size_t D>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE std::array<double, D> minus(const std::array<double, D>& a,
                                                                      const std::array<double, D>& b)
{
  std::array<double, D> difference;
  TESSERA_UNROLL
  for (std::size_t d = 0; d < D; ++d)
    difference[d] = a[d] - b[d];
  return difference;
}

/// A whole spline; its numbers are in the memory of whoever evaluates it. Kernels read landmarks through the
/// first-level cache, since all lanes of a warp read the same one.
template <int D>
struct SplineOfLandmarks {
  SplineKernel kernel;
  double alpha;
  int count;                 // number of landmarks
  const double* landmarksMm; // p_i, point by point
  const double* vectors;     // w_i, point by point, then the columns of I + A, then b

  TESSERA_HOST_DEVICE Vec<D> landmarkMm(int i) const { return at(landmarksMm, i); }
  TESSERA_HOST_DEVICE Vec<D> vector(int i) const { return at(vectors, i); }

  TESSERA_HOST_DEVICE Vec<D> operator()(const Vec<D>& pointMm) const
  {
    Vec<D> sum = vector(count + D);
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const Vec<D> column = vector(count + d);
      TESSERA_UNROLL
      for (int k = 0; k < D; ++k)
        sum[k] += column[k] * pointMm[d];
    }
    withKernel<D>(kernel, [&](auto constant) {
      for (int i = 0; i < count; ++i)
        addKernel<D, decltype(constant)::value>(minus(pointMm, landmarkMm(i)), vector(i), alpha, sum);
    });
    return sum;
  }

  /// The first and second derivatives, in the layouts of addKernelDerivatives.
  TESSERA_HOST_DEVICE void derivatives(const Vec<D>& pointMm, double (&jacobian)[D][D],
                                       double (&h)[D][D * (D + 1) / 2]) const
  {
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      TESSERA_UNROLL
      for (int d = 0; d < D; ++d)
        jacobian[k][d] = loadConstant(vectors + (count + d) * D + k);
      TESSERA_UNROLL
      for (int s = 0; s < D * (D + 1) / 2; ++s)
        h[k][s] = 0;
    }
    withKernel<D>(kernel, [&](auto constant) {
      for (int i = 0; i < count; ++i)
        addKernelDerivatives<D, decltype(constant)::value>(minus(pointMm, landmarkMm(i)), vector(i), alpha,
                                                           jacobian, h);
    });
  }

private:
  static TESSERA_HOST_DEVICE Vec<D> at(const double* values, int i)
  {
    Vec<D> value;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      value[d] = loadConstant(values + static_cast<std::size_t>(i) * D + d);
    return value;
  }
};

}
