#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"

namespace tessera {

/// G(x), row-major.
template <int D, SplineKernel Kernel>
TESSERA_HOST_DEVICE Matrix<D> kernelMatrix(const Vec<D>& x, double alpha)
{
  double squared = 0;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    squared += x[d] * x[d];
  const RadialTerms t = radialTerms<Kernel>(squared, alpha);
  Matrix<D> g{};
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    TESSERA_UNROLL
    for (int b = 0; b < D; ++b)
      g[a][b] = t.g * x[a] * x[b] + (a == b ? t.f : 0);
  }
  return g;
}

}
