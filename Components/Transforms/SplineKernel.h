#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>
#include <type_traits>

namespace tessera {

enum class SplineKernel { thinPlate, thinPlateR2LogR, volume, elasticBody, elasticBodyReciprocal };

/// G(x) = f(r) I + g(r) x x^T and what its derivatives need: f1 = f'/r, f2 = f1'/r, the same for g. Zero where they are singular (r
/// = 0).
struct RadialTerms {
  double f = 0, f1 = 0, f2 = 0, g = 0, g1 = 0, g2 = 0;
};

constexpr bool hasOuterProduct(SplineKernel kernel)
{
  return kernel == SplineKernel::elasticBody || kernel == SplineKernel::elasticBodyReciprocal;
}

/// alpha of the elastic kernels for a Poisson ratio.
inline double elasticAlpha(SplineKernel kernel, double poissonRatio)
{
  return (kernel == SplineKernel::elasticBody ? 12 : 8) * (1 - poissonRatio) - 1;
}

template <SplineKernel Kernel>
TESSERA_ALWAYS_INLINE RadialTerms radialTerms(double squaredDistance, double alpha)
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

/// Calls body with the kernel as a constant; in 2D there is one.
template <int D, class Body>
void withKernel(SplineKernel kernel, Body&& body)
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

}
