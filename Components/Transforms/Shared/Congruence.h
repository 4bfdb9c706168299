#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cmath>
#include <cstddef>

namespace tessera {

struct MultiplyThenAdd {
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double operator()(double a, double b, double sum) const
  {
    return a * b + sum;
  }
};
struct FusedMultiplyAdd {
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double operator()(double a, double b, double sum) const
  {
    return fma(a, b, sum);
  }
};

/// out = m^T h m for a symmetric h, by which second derivatives follow a linear map m of the coordinates. h
/// and out are upper triangles; the entries of `out` are `stride` apart. MultiplyAdd gives a b + sum, rounded
/// twice or once.
template <int D, class MultiplyAdd, class Rows>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void congruence(const double* h, const Rows& m, double* out,
                                                          std::size_t stride = 1)
{
  constexpr MultiplyAdd multiplyAdd{};
  double half[D][D];
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    TESSERA_UNROLL
    for (int q = 0; q < D; ++q) {
      half[a][q] = 0;
      TESSERA_UNROLL
      for (int b = 0; b < D; ++b)
        half[a][q] = multiplyAdd(h[symmetricIndex<D>(a, b)], m[b][q], half[a][q]);
    }
  }
  TESSERA_UNROLL
  for (int p = 0; p < D; ++p) {
    TESSERA_UNROLL
    for (int q = p; q < D; ++q) {
      double sum = 0;
      TESSERA_UNROLL
      for (int a = 0; a < D; ++a)
        sum = multiplyAdd(m[a][p], half[a][q], sum);
      out[symmetricIndex<D>(p, q) * stride] = sum;
    }
  }
}

}
