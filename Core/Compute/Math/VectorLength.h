#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cmath>

namespace tessera {

template <int D>
TESSERA_HOST_DEVICE double lengthOf(const Vec<D>& v)
{
  double sum = 0;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    sum += v[d] * v[d];
  return std::sqrt(sum);
}

template <int D>
TESSERA_HOST_DEVICE double distanceBetween(const Vec<D>& a, const Vec<D>& b)
{
  Vec<D> difference;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    difference[d] = a[d] - b[d];
  return lengthOf<D>(difference);
}

}
