#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cstddef>

namespace tessera {

/// The matrix of point i in the layout of SpatialDerivatives::spatialDerivatives, for `count` points.
template <int D>
Matrix<D> jacobianAt(const double* jacobians, std::size_t count, std::size_t i)
{
  Matrix<D> m;
  for (int entry = 0; entry < D * D; ++entry)
    m[entry / D][entry % D] = jacobians[entry * count + i];
  return m;
}

}
