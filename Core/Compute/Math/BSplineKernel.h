#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

namespace tessera {

// Centred cardinal B-splines (Unser, "Splines: a perfect fit for signal and image processing", 1999). The
// functions give the weights of the n + 1 knots in whose support a point x lies. `t` is the distance of the
// point, in knots, from the first of them: t = x - floor(x - (n - 1) / 2), in [(n - 1) / 2, (n + 1) / 2). The
// weights add up to 1. No formula divides, because division is a subroutine on a GPU.

/// The offset for the first knot of a point x: x - first lies in [(n - 1) / 2, (n + 1) / 2) for order n.
template <int Order>
TESSERA_HOST_DEVICE inline double firstKnotOffset()
{
  return (Order - 1) / 2.0;
}

/// The order + 1 control points along one axis of a grid in whose support a point lies; they begin at
/// `start`.
struct AxisSupport {
  int start;
  double distance; // distance of the point from control point `start`; the argument of bsplineWeights
  /// Whether all of them are in the grid; otherwise start and distance are those of x = 0.
  bool inside;
};

/// x is the point's grid index less `half` = (order - 1) / 2. Supports begin in [0, limit). NaN is outside.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE AxisSupport axisSupport(double x, double limit, double half)
{
  const bool inside = x >= 0 && x < limit;
  const double at = inside ? x : 0.0;
  const int start = static_cast<int>(at);
  return {start, at - start + half, inside};
}

/// x wrapped to [0, period), for a cyclic axis.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double wrappedTo(double period, double x)
{
  x -= period * std::floor(x / period);
  return x >= period ? 0 : x; // a tiny negative x may be rounded to the period
}

template <int Order, class Real>
TESSERA_HOST_DEVICE inline void bsplineWeights(Real t, Real* w)
{
  static_assert(Order >= 0 && Order <= 5);
  if constexpr (Order == 0) {
    w[0] = 1;
  } else if constexpr (Order == 1) {
    w[0] = 1 - t;
    w[1] = t;
  } else if constexpr (Order == 2) {
    const Real u = t - 1; // in [-1/2, 1/2)
    w[0] = Real(0.5) * (Real(0.5) - u) * (Real(0.5) - u);
    w[1] = Real(0.75) - u * u;
    w[2] = Real(0.5) * (Real(0.5) + u) * (Real(0.5) + u);
  } else if constexpr (Order == 3) {
    const Real u = t - 1, v = 1 - u; // u in [0, 1)
    w[0] = v * v * v * (Real(1) / 6);
    w[1] = Real(2) / 3 - u * u * (2 - u) * Real(0.5);
    w[2] = Real(2) / 3 - v * v * (2 - v) * Real(0.5);
    w[3] = u * u * u * (Real(1) / 6);
  } else if constexpr (Order == 4) {
    const Real u = t - 2, u2 = u * u; // in [-1/2, 1/2)
    const Real a = Real(0.5) - u, b = Real(0.5) + u;
    w[0] = a * a * a * a * (Real(1) / 24);
    w[4] = b * b * b * b * (Real(1) / 24);
    w[1] = (Real(19) / 96) - u * (Real(11) / 24) + u2 * (Real(1) / 4) + u2 * u * (Real(1) / 6)
           - u2 * u2 * (Real(1) / 6);
    w[3] = (Real(19) / 96) + u * (Real(11) / 24) + u2 * (Real(1) / 4) - u2 * u * (Real(1) / 6)
           - u2 * u2 * (Real(1) / 6);
    w[2] = (Real(115) / 192) - u2 * (Real(5) / 8) + u2 * u2 * (Real(1) / 4);
  } else {
    const Real u = t - 2, v = 1 - u; // u in [0, 1)
    const Real u2 = u * u, v2 = v * v;
    const auto far = [](Real s) { return s * s * s * s * s * (Real(1) / 120); };
    // beta5 at distances 1 + s and s from a knot, with s in [0, 1).
    const auto middle = [](Real s) {
      return (Real(26) - 50 * s + 20 * s * s + 20 * s * s * s - 20 * s * s * s * s + 5 * s * s * s * s * s)
             * (Real(1) / 120);
    };
    const auto near = [](Real s, Real s2) {
      return (Real(66) - 60 * s2 + 30 * s2 * s2 - 10 * s2 * s2 * s) * (Real(1) / 120);
    };
    w[0] = far(v);
    w[1] = middle(u);
    w[2] = near(u, u2);
    w[3] = near(v, v2);
    w[4] = middle(v);
    w[5] = far(u);
  }
}

/// The first derivatives of the weights by the point: beta_n'(x) = beta_{n-1}(x + 1/2) - beta_{n-1}(x - 1/2).
template <int Order, class Real>
TESSERA_HOST_DEVICE inline void bsplineDerivatives(Real t, Real* w)
{
  static_assert(Order >= 1 && Order <= 5);
  Real lower[Order];
  bsplineWeights<Order - 1, Real>(t - Real(0.5), lower);
  w[0] = -lower[0];
  for (int k = 1; k < Order; ++k)
    w[k] = lower[k - 1] - lower[k];
  w[Order] = lower[Order - 1];
}

/// The second derivatives of the weights by the point.
template <int Order, class Real>
TESSERA_HOST_DEVICE inline void bsplineSecondDerivatives(Real t, Real* w)
{
  static_assert(Order >= 1 && Order <= 5);
  if constexpr (Order == 1) {
    w[0] = w[1] = 0;
  } else {
    Real lower[Order];
    bsplineDerivatives<Order - 1, Real>(t - Real(0.5), lower);
    w[0] = -lower[0];
    for (int k = 1; k < Order; ++k)
      w[k] = lower[k - 1] - lower[k];
    w[Order] = lower[Order - 1];
  }
}

}
