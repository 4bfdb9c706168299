#pragma once

#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Compute/Math/BSplineKernel.h"
#include "Core/Registration/Transform.h"

#include <array>
#include <cmath>
#include <optional>
#include <vector>

namespace tessera {

/// A OneSplineChain with a cubic B-spline: T(x) = linear(x) + turn * u(x). The displacement u is evaluated in
/// single precision, relative to the cell of control points, and the rest in double precision.
template <int D>
struct SplineMap {
  AffineMap<D> linear;    // mm to mm
  AffineMap<D> gridIndex; // from mm to the index of the first of the control points that support a point
  Matrix<D> turn{};
  std::array<int, D> points{};         // control points along each axis
  const float* coefficients = nullptr; // mm, planar, x fastest

  /// dT/dx, and T(x).
  TESSERA_HOST_DEVICE Matrix<D> operator()(const Vec<D>& pointMm, Vec<D>& imageMm) const
  {
    constexpr int taps = 4;
    imageMm = linear(pointMm);
    Matrix<D> jacobian = linear.matrix;
    const Vec<D> index = gridIndex(pointMm);
    float value[D][taps], first[D][taps];
    int corner = 0, stride = 1, strides[D];
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const AxisSupport axis = axisSupport(index[d], points[d] - 3, firstKnotOffset<3>());
      inside = inside && axis.inside;
      const auto t = static_cast<float>(axis.distance);
      bsplineWeights<3, float>(t, value[d]);
      bsplineDerivatives<3, float>(t, first[d]);
      corner += axis.start * stride;
      strides[d] = stride;
      stride *= points[d];
    }
    if (!inside)
      return jacobian;
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      float u[D + 1]; // the displacement, and its derivatives by the index
      indexDerivatives(coefficients + static_cast<std::size_t>(k) * stride + corner, strides, value, first,
                       u);
      Vec<D> byPoint; // derivatives of the displacement by the point
      TESSERA_UNROLL
      for (int j = 0; j < D; ++j) {
        byPoint[j] = 0;
        TESSERA_UNROLL
        for (int a = 0; a < D; ++a)
          byPoint[j] = std::fma(static_cast<double>(u[1 + a]), gridIndex.matrix[a][j], byPoint[j]);
      }
      TESSERA_UNROLL
      for (int i = 0; i < D; ++i) {
        imageMm[i] = std::fma(turn[i][k], static_cast<double>(u[0]), imageMm[i]);
        TESSERA_UNROLL
        for (int j = 0; j < D; ++j)
          jacobian[i][j] = std::fma(turn[i][k], byPoint[j], jacobian[i][j]);
      }
    }
    return jacobian;
  }

private:
  /// The value and the first derivatives of one component by the index: rows along x first, then the rows of
  /// a slice, then the slices.
  static TESSERA_HOST_DEVICE void indexDerivatives(const float* from, const int (&strides)[D],
                                                   const float (&value)[D][4], const float (&first)[D][4],
                                                   float (&u)[D + 1])
  {
    constexpr int last = D - 1;
    TESSERA_UNROLL
    for (float& sum : u)
      sum = 0;
    TESSERA_UNROLL
    for (int l = 0; l < 4; ++l) {
      float slice[D] = {}; // the value, and its derivatives along x and (3D) y
      TESSERA_UNROLL
      for (int m = 0; m < (D == 3 ? 4 : 1); ++m) {
        float row = 0, slope = 0;
        TESSERA_UNROLL
        for (int k = 0; k < 4; ++k) {
          const float c = loadConstant(from + l * strides[last] + (D == 3 ? m * strides[1] : 0) + k);
          row = std::fma(c, value[0][k], row);
          slope = std::fma(c, first[0][k], slope);
        }
        if constexpr (D == 3) {
          slice[0] = std::fma(row, value[1][m], slice[0]);
          slice[1] = std::fma(slope, value[1][m], slice[1]);
          slice[2] = std::fma(row, first[1][m], slice[2]);
        } else {
          slice[0] = row;
          slice[1] = slope;
        }
      }
      u[0] = std::fma(slice[0], value[last][l], u[0]);
      u[D] = std::fma(slice[0], first[last][l], u[D]);
      TESSERA_UNROLL
      for (int a = 1; a < D; ++a)
        u[a] = std::fma(slice[a], value[last][l], u[a]);
    }
  }
};

template <int D>
struct SplineMapOfChain {
  SplineMap<D> map; // without coefficients
  std::vector<float> coefficientsMm;
  double errorMm = 0; // a bound of the error of T(x): some 20 roundings of the longest displacement
};

/// Empty if the chain has other transforms than linear ones and one cubic B-spline that is not cyclic.
template <int D>
std::optional<SplineMapOfChain<D>> asSplineMap(const TransformChain<D>&);

}
