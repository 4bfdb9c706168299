#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Registration/Samples/Samples.h"

#include <cmath>

// The work of linear transforms on a batch.
namespace tessera::linear {

constexpr int lanes = 4;
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));

/// Sums of v and of v (x - c)^T over a batch. Sample i goes to lane i % 4, and lanes are added in order.
template <int D>
struct MomentSums {
  TESSERA_MULTIVERSION static CovectorMoments<D> of(const ListSamples<D>& samples,
                                                    const Covectors<D>& covectors, const Vec<D>& center)
  {
    Lanes sums[D] = {}, outers[D][D] = {};
    for (std::size_t i = 0; i < samples.count; i += lanes) {
      Lanes v[D] = {}, x[D] = {};
      if (i + lanes <= samples.count) {
        for (int d = 0; d < D; ++d) {
          __builtin_memcpy(&v[d], covectors[d] + i, sizeof(Lanes));
          __builtin_memcpy(&x[d], samples.pointMm[d] + i, sizeof(Lanes));
        }
      } else {
        for (int d = 0; d < D; ++d)
          for (std::size_t lane = 0; i + lane < samples.count; ++lane) {
            v[d][lane] = covectors[d][i + lane];
            x[d][lane] = samples.pointMm[d][i + lane];
          }
      }
      for (int row = 0; row < D; ++row) {
        sums[row] += v[row];
        for (int column = 0; column < D; ++column)
          outers[row][column] += v[row] * (x[column] - center[column]);
      }
    }
    CovectorMoments<D> moments;
    for (int row = 0; row < D; ++row)
      for (int lane = 0; lane < lanes; ++lane) {
        moments.sum[row] += sums[row][lane];
        for (int column = 0; column < D; ++column)
          moments.outer[row][column] += outers[row][column][lane];
      }
    return moments;
  }
};

/// out = matrix x + offset; `out` may be the array of points. The order of the sums is that of ITK: where a
/// transformed box is a whole number of grid spacings long, their last bit decides on the number of control
/// points.
template <int D>
struct AffineBatch {
  TESSERA_MULTIVERSION static void apply(const AffineMap<D>& map, const ListSamples<D>& samples,
                                         const PointsOut<D>& out)
  {
    const AffineMap<D> m = map;
    std::size_t i = 0;
    for (; i + lanes <= samples.count; i += lanes) {
      Lanes x[D];
      for (int d = 0; d < D; ++d)
        __builtin_memcpy(&x[d], samples.pointMm[d] + i, sizeof(Lanes));
      for (int row = 0; row < D; ++row) {
        Lanes result = m.matrix[row][0] * x[0];
        for (int column = 1; column < D; ++column)
          result += m.matrix[row][column] * x[column];
        result += m.offset[row];
        __builtin_memcpy(out[row] + i, &result, sizeof(Lanes));
      }
    }
    for (; i < samples.count; ++i) {
      Vec<D> x;
      for (int d = 0; d < D; ++d)
        x[d] = samples.pointMm[d][i];
      for (int row = 0; row < D; ++row) {
        double result = m.matrix[row][0] * x[0];
        for (int column = 1; column < D; ++column)
          result += m.matrix[row][column] * x[column];
        out[row][i] = result + m.offset[row];
      }
    }
  }
};

/// The trace plus 2 sqrt(2) times the Frobenius norm of a D x D matrix.
template <int D>
double sizeOf(const Matrix<D>& m)
{
  double trace = 0, squares = 0;
  for (int p = 0; p < D; ++p) {
    trace += m[p][p];
    for (int q = 0; q < D; ++q)
      squares += m[p][q] * m[p][q];
  }
  return trace + 2 * std::sqrt(2.0) * std::sqrt(squares);
}

}
