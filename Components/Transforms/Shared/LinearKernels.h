#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Registration/Samples/Samples.h"

#include <algorithm>
#include <cmath>

// The work of linear transforms on a batch.
namespace tessera::linear {

constexpr std::size_t lanes = 4;

/// Sums of v and of v (x - c)^T over a batch. Sample i goes to lane i % 4, and lanes are added in order.
template <int D>
struct MomentSums {
  TESSERA_MULTIVERSION static CovectorMoments<D> of(const ListSamples<D>& samples,
                                                    const Covectors<D>& covectors, const Vec<D>& center)
  {
    double sums[D][lanes] = {}, outers[D][D][lanes] = {};
    for (std::size_t begin = 0; begin < samples.count; begin += lanes)
      for (std::size_t lane = 0; lane < std::min(lanes, samples.count - begin); ++lane)
        for (int row = 0; row < D; ++row) {
          const double v = covectors[row][begin + lane];
          sums[row][lane] += v;
          for (int column = 0; column < D; ++column)
            outers[row][column][lane] += v * (samples.pointMm[column][begin + lane] - center[column]);
        }
    CovectorMoments<D> moments;
    for (int row = 0; row < D; ++row)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
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
    for (std::size_t i = 0; i < samples.count; ++i) {
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
