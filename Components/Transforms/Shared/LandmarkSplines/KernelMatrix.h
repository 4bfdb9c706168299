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

/// left g right^T for lower triangles left and right.
template <int D>
TESSERA_HOST_DEVICE Matrix<D> betweenRows(const Matrix<D>& left, const Matrix<D>& g, const Matrix<D>& right)
{
  Matrix<D> result{};
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    Vec<D> row{}; // of left g
    TESSERA_UNROLL
    for (int c = 0; c < D; ++c) {
      TESSERA_UNROLL
      for (int k = 0; k < D; ++k)
        row[c] += k <= a ? left[a][k] * g[k][c] : 0;
    }
    TESSERA_UNROLL
    for (int b = 0; b < D; ++b) {
      TESSERA_UNROLL
      for (int k = 0; k < D; ++k)
        result[a][b] += k <= b ? row[k] * right[b][k] : 0;
    }
  }
  return result;
}

}
