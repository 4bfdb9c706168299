#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Math/SplinePolynomials.h"

#include <cstring>

namespace tessera {

template <class Real, int Lanes>
struct VectorOf {
  typedef Real type __attribute__((vector_size(Lanes * sizeof(Real))));
};

/// A row of coefficients of a support, in one vector of numbers of the type `Real`.
template <int Order, class Real>
struct SupportRow {
  static constexpr int lanes = WeightPolynomials<Order, Real>::lanes;
  using Vector = typename VectorOf<Real, lanes>::type;
  static constexpr WeightPolynomials<Order, Real> polynomials{};

  static TESSERA_ALWAYS_INLINE Vector load(const Real* from)
  {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }

  template <int Count>
  static TESSERA_ALWAYS_INLINE Vector horner(const Real (&table)[Count][lanes], Real t)
  {
    Vector w = load(table[Count - 1]);
    for (int j = Count - 2; j >= 0; --j)
      w = w * t + load(table[j]);
    return w;
  }

  static TESSERA_ALWAYS_INLINE Real sum(Vector v)
  {
    Real pair[lanes];
    std::memcpy(pair, &v, sizeof v);
    if constexpr (lanes == 4)
      return (pair[0] + pair[2]) + (pair[1] + pair[3]);
    else
      return ((pair[0] + pair[4]) + (pair[2] + pair[6])) + ((pair[1] + pair[5]) + (pair[3] + pair[7]));
  }
};

}
