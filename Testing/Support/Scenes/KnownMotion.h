#pragma once

#include "Core/Image/ImageGeometry.h"

#include <cmath>
#include <numbers>

namespace tessera::testing {

/// A map whose inverse is known: T(x) = R S (x - c) + c + t + u(x), with a turn in the x-y plane, stretches
/// of the axes, and waves u of one amplitude, each axis displaced along another one.
template <int D>
class KnownMotion {
public:
  Vec<D> centerMm{}, shiftMm{}, stretch{};
  double turnRadians = 0;
  double waveMm = 0, waveLengthMm = 1; // 2 pi waveMm / waveLengthMm must stay below the smallest stretch

  Vec<D> forward(const Vec<D>& pointMm) const
  {
    Vec<D> moved = apply<D>(linear(), minus(pointMm, centerMm));
    const Vec<D> wave = displacementMm(pointMm);
    for (int d = 0; d < D; ++d)
      moved[d] += centerMm[d] + shiftMm[d] + wave[d];
    return moved;
  }

  Vec<D> backward(const Vec<D>& movedMm) const
  {
    const Matrix<D> inverseLinear = inverse(linear());
    Vec<D> pointMm = movedMm;
    for (double change = 1; change > 1e-9;) { // a contraction: exact after one step without waves
      const Vec<D> last = pointMm, wave = displacementMm(last);
      Vec<D> rest = minus(minus(movedMm, centerMm), shiftMm);
      rest = apply<D>(inverseLinear, minus(rest, wave));
      change = 0;
      for (int d = 0; d < D; ++d) {
        pointMm[d] = rest[d] + centerMm[d];
        change += waveMm == 0 ? 0 : std::abs(pointMm[d] - last[d]);
      }
    }
    return pointMm;
  }

private:
  static Vec<D> minus(const Vec<D>& a, const Vec<D>& b)
  {
    Vec<D> difference;
    for (int d = 0; d < D; ++d)
      difference[d] = a[d] - b[d];
    return difference;
  }

  Matrix<D> linear() const
  {
    Matrix<D> m = identityMatrix<D>();
    m[0][0] = m[1][1] = std::cos(turnRadians);
    m[1][0] = std::sin(turnRadians);
    m[0][1] = -m[1][0];
    for (auto& row : m)
      for (int d = 0; d < D; ++d)
        row[d] *= stretch[d];
    return m;
  }

  Vec<D> displacementMm(const Vec<D>& pointMm) const
  {
    Vec<D> wave{};
    for (int d = 0; d < D && waveMm != 0; ++d)
      wave[d] = waveMm
                * std::sin(
                    2 * std::numbers::pi * (pointMm[(d + 1) % D] - centerMm[(d + 1) % D]) / waveLengthMm + d);
    return wave;
  }
};

}
