#pragma once

#include "Core/Compute/HostDevice.h"

#include <array>
#include <cmath>
#include <optional>

namespace tessera {

template <int D>
using Vec = std::array<double, D>;

/// Row-major: m[row][column].
template <int D>
using Matrix = std::array<std::array<double, D>, D>;

// The compiler cannot deduce D from a Vec or a Matrix, whose sizes are std::size_t: write apply<D>,
// multiply<D>, transpose<D>.
template <int D>
TESSERA_HOST_DEVICE Matrix<D> identityMatrix()
{
  Matrix<D> m{};
  for (int d = 0; d < D; ++d)
    m[d][d] = 1;
  return m;
}

template <int D>
TESSERA_HOST_DEVICE Vec<D> apply(const Matrix<D>& m, const Vec<D>& v)
{
  Vec<D> r{};
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      r[i] += m[i][j] * v[j];
  return r;
}

template <int D>
Matrix<D> multiply(const Matrix<D>& a, const Matrix<D>& b)
{
  Matrix<D> r{};
  for (int i = 0; i < D; ++i)
    for (int k = 0; k < D; ++k)
      for (int j = 0; j < D; ++j)
        r[i][j] += a[i][k] * b[k][j];
  return r;
}

template <int D>
Matrix<D> transpose(const Matrix<D>& m)
{
  Matrix<D> r{};
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      r[j][i] = m[i][j];
  return r;
}

inline double determinant(const Matrix<2>& m)
{
  return m[0][0] * m[1][1] - m[0][1] * m[1][0];
}

inline double determinant(const Matrix<3>& m)
{
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
         + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/// The matrix without one row and one column.
template <int D>
Matrix<D - 1> minorOf(const Matrix<D>& m, int row, int column)
{
  Matrix<D - 1> r;
  for (int i = 0; i < D - 1; ++i)
    for (int j = 0; j < D - 1; ++j)
      r[i][j] = m[i + (i >= row)][j + (j >= column)];
  return r;
}

inline double determinant(const Matrix<4>& m)
{
  double sum = 0;
  for (int j = 0; j < 4; ++j)
    sum += (j % 2 ? -1 : 1) * m[0][j] * determinant(minorOf<4>(m, 0, j));
  return sum;
}

/// The matrix must not be singular.
inline Matrix<2> inverse(const Matrix<2>& m)
{
  const double f = 1 / determinant(m);
  return {{{m[1][1] * f, -m[0][1] * f}, {-m[1][0] * f, m[0][0] * f}}};
}

inline Matrix<3> inverse(const Matrix<3>& m)
{
  const double f = 1 / determinant(m);
  Matrix<3> r{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
      r[i][j] = (m[a][c] * m[b][d] - m[a][d] * m[b][c]) * f;
    }
  return r;
}

inline Matrix<4> inverse(const Matrix<4>& m)
{
  const double f = 1 / determinant(m);
  Matrix<4> r{};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      r[i][j] = ((i + j) % 2 ? -f : f) * determinant(minorOf<4>(m, j, i));
  return r;
}

/// x -> matrix * x + offset.
template <int D>
struct AffineMap {
  Matrix<D> matrix = identityMatrix<D>();
  Vec<D> offset{};

  TESSERA_HOST_DEVICE Vec<D> operator()(const Vec<D>& x) const
  {
    Vec<D> r = apply<D>(matrix, x);
    for (int d = 0; d < D; ++d)
      r[d] += offset[d];
    return r;
  }
};

/// outer(inner(x)).
template <int D>
AffineMap<D> compose(const AffineMap<D>& outer, const AffineMap<D>& inner)
{
  return {multiply<D>(outer.matrix, inner.matrix), outer(inner.offset)};
}

template <int D>
AffineMap<D> inverse(const AffineMap<D>& map)
{
  AffineMap<D> r{inverse(map.matrix), {}};
  const Vec<D> shifted = apply<D>(r.matrix, map.offset);
  for (int d = 0; d < D; ++d)
    r.offset[d] = -shifted[d];
  return r;
}

/// The number of entries of a symmetric matrix's upper triangle, which is stored row by row.
TESSERA_HOST_DEVICE constexpr int symmetricCount(int dimension)
{
  return dimension * (dimension + 1) / 2;
}

/// The position of (a, b) in the upper triangle; a and b may be in any order.
template <int D>
TESSERA_HOST_DEVICE constexpr int symmetricIndex(int a, int b)
{
  return a <= b ? a * D - a * (a - 1) / 2 + b - a : b * D - b * (b - 1) / 2 + a - b;
}

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
