#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <optional>

namespace tessera {

/// L with L L^T = matrix, or nothing if the symmetric matrix is not positive definite.
template <int D>
std::optional<Matrix<D>> choleskyFactor(const Matrix<D>& matrix)
{
  Matrix<D> factor{};
  for (std::size_t i = 0; i < D; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k)
        rest -= factor[i][k] * factor[j][k];
      if (i == j && !(rest > 0))
        return std::nullopt;
      factor[i][j] = i == j ? std::sqrt(rest) : rest / factor[j][j];
    }
  return factor;
}

}
