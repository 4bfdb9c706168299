#pragma once

#include "Components/Interpolators/Shared/SplineSupport.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Math/SplinePolynomials.h"

#include <cstring>

namespace tessera {

/// A row of voxels whose index moves by at most `roundingOfStep` a voxel along the other axes lies on a line
/// along x: the product of the directions of two oblique grids is only that near to 0. With longer steps than
/// `largestStepOnLine` voxels, most columns that a line sums would not be used.
constexpr double roundingOfStep = 1e-14;
constexpr int largestStepOnLine = 2;

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

/// The value and the derivatives along the index axes at point i:
///
///   value = sum over k of c_k prod_d beta_n(i_d - k_d)               Unser 1999, eq. 2 and 3
///
/// Rows along x are summed first, then rows along y, then slices. A derivative along an axis has the
/// derivative of beta_n there.
template <int D, int Order, bool WithGradient, class Real>
TESSERA_ALWAYS_INLINE void
evaluatePoint(const SplineSupport<D, Order, SupportRow<Order, Real>::lanes, Real>& support,
              const Located<D, Real>& located, std::size_t i, Real& value, Real (&slope)[D])
{
  using Row = SupportRow<Order, Real>;
  using Vector = typename Row::Vector;
  Vector weight[D], derivative[D];
  Real w[D][Row::lanes], dw[D][Row::lanes];
  for (int d = 0; d < D; ++d) {
    weight[d] = Row::horner(Row::polynomials.value, located.t[d][i]);
    std::memcpy(w[d], &weight[d], sizeof weight[d]);
    if constexpr (WithGradient) {
      derivative[d] = Row::horner(Row::polynomials.slope, located.t[d][i]);
      std::memcpy(dw[d], &derivative[d], sizeof derivative[d]);
    }
  }
  Vector all{}, alongY{}, alongZ{};
  for (int z = 0; z < (D == 3 ? Order + 1 : 1); ++z) {
    const Real* const plane = support.rows + static_cast<std::size_t>(z) * support.planeStride;
    Vector rows{}, rowsY{};
    for (int y = 0; y <= Order; ++y) {
      const Vector row = Row::load(plane + static_cast<std::size_t>(y) * support.rowStride);
      rows += w[1][y] * row;
      if constexpr (WithGradient)
        rowsY += dw[1][y] * row;
    }
    if constexpr (D == 2) {
      all = rows;
      alongY = rowsY;
    } else {
      all += w[2][z] * rows;
      if constexpr (WithGradient) {
        alongY += w[2][z] * rowsY;
        alongZ += dw[2][z] * rows;
      }
    }
  }
  value = Row::sum(all * weight[0]);
  if constexpr (WithGradient) {
    slope[0] = Row::sum(all * derivative[0]);
    slope[1] = Row::sum(alongY * weight[0]);
    if constexpr (D == 3)
      slope[2] = Row::sum(alongZ * weight[0]);
  }
}

/// Values and derivatives along the index axes for a block of points; zero for points outside of the image.
template <int D, int Order, bool WithGradient, class Coefficient, class Real>
TESSERA_ALWAYS_INLINE void evaluateBlock(const SplineImage<D, Coefficient>& image,
                                         const Located<D, Real>& located, std::size_t count, float* values,
                                         Real (&slopes)[D][splineBlockSize])
{
  SplineSupport<D, Order, SupportRow<Order, Real>::lanes, Coefficient> support(image);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + splinePrefetchDistance < count)
      support.prefetch(image, located, i + splinePrefetchDistance);
    Real value = 0, slope[D] = {};
    if (located.place[i] != Located<D, Real>::outside) {
      support.moveTo(image, located, i);
      evaluatePoint<D, Order, WithGradient>(support, located, i, value, slope);
    }
    values[i] = static_cast<float>(value);
    for (int d = 0; d < D; ++d)
      slopes[d][i] = slope[d];
  }
}

/// Values for a block of points on one line along x, all inside. They share their weights along the other
/// axes, so the rows of coefficients are summed once for all, in the order and with the bits of
/// evaluatePoint.
template <int D, int Order, class Coefficient, class Real>
TESSERA_ALWAYS_INLINE void evaluateOnLine(const SplineImage<D, Coefficient>& image,
                                          const Located<D, Real>& located, std::size_t count, float* values)
{
  using Row = SupportRow<Order, Real>;
  Real w[D][Row::lanes];
  for (int d = 1; d < D; ++d) {
    const auto weight = Row::horner(Row::polynomials.value, located.t[d][0]);
    std::memcpy(w[d], &weight, sizeof weight);
  }
  const std::int32_t* const first = located.first[0];
  const std::int32_t from = std::min(first[0], first[count - 1]),
                     columns = std::max(first[0], first[count - 1]) + Order + 1 - from,
                     size = static_cast<std::int32_t>(image.size[0]);
  Real line[largestStepOnLine * splineBlockSize + 2 * Row::lanes] = {};
  for (int z = 0; z < (D == 3 ? Order + 1 : 1); ++z) {
    const Coefficient* rows[Order + 1];
    for (int y = 0; y <= Order; ++y) {
      std::size_t row = folded(located.first[1][0] + y, image.size[1], image.edges);
      if constexpr (D == 3)
        row += image.size[1] * folded(located.first[2][0] + z, image.size[2], image.edges);
      rows[y] = image.coefficients + row * image.size[0];
    }
    const auto add = [&](std::int32_t c, std::int32_t column) __attribute__((always_inline))
    {
      Real sum = 0;
      for (int y = 0; y <= Order; ++y)
        sum += w[1][y] * rows[y][column];
      if constexpr (D == 2)
        line[c] = sum;
      else
        line[c] += w[2][z] * sum;
    };
    const auto addMirrored = [&](std::int32_t begin, std::int32_t end) {
      for (std::int32_t c = begin; c < end; ++c)
        add(c, static_cast<std::int32_t>(folded(from + c, image.size[0], image.edges)));
    };
    const std::int32_t begin = std::clamp(-from, 0, columns), end = std::clamp(size - from, begin, columns);
    addMirrored(0, begin);
    for (std::int32_t c = begin; c < end; ++c)
      add(c, from + c);
    addMirrored(end, columns);
  }
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(
        Row::sum(Row::load(line + (first[i] - from)) * Row::horner(Row::polynomials.value, located.t[0][i])));
}

template <int D, int Order, bool WithGradient, class Real, class Coefficient>
TESSERA_ALWAYS_INLINE void evaluateBatch(const SplineImage<D, Coefficient>& image,
                                         const ListSamples<D>& points, float* values, float* const* gradients,
                                         std::uint8_t* inside)
{
  Real fromIndexSlopes[D][D]; // d value / d point = (d index / d point)^T d value / d index
  for (int d = 0; d < D; ++d)
    for (int j = 0; j < D; ++j)
      fromIndexSlopes[d][j] = static_cast<Real>(image.pointToIndex.fromOffset[j][d]);
  Located<D, Real> located;
  Real slopes[D][splineBlockSize];
  for (std::size_t begin = 0; begin < points.count; begin += splineBlockSize) {
    const std::size_t count = std::min(splineBlockSize, points.count - begin);
    locate<D, Order>(image, points, begin, count, located);
    evaluateBlock<D, Order, WithGradient>(image, located, count, values + begin, slopes);
    for (std::size_t i = 0; i < count; ++i)
      inside[begin + i] = located.place[i] == Located<D, Real>::outside ? 0 : 1;
    if constexpr (WithGradient)
      for (int d = 0; d < D; ++d) {
        float* const gradient = gradients[d] + begin;
        for (std::size_t i = 0; i < count; ++i) {
          Real sum = fromIndexSlopes[d][0] * slopes[0][i];
          for (int j = 1; j < D; ++j)
            sum += fromIndexSlopes[d][j] * slopes[j][i];
          gradient[i] = static_cast<float>(sum);
        }
      }
  }
}

template <int D, int Order, class Coefficient, class Real>
TESSERA_MULTIVERSION void
SplineBatch<D, Order, Coefficient, Real>::values(const SplineImage<D, Coefficient>& image,
                                                 const ListSamples<D>& points, float* values,
                                                 std::uint8_t* inside)
{
  evaluateBatch<D, Order, false, Real>(image, points, values, nullptr, inside);
}

template <int D, int Order, class Coefficient, class Real>
TESSERA_MULTIVERSION void
SplineBatch<D, Order, Coefficient, Real>::row(const SplineImage<D, Coefficient>& image,
                                              const IndexRow<D>& row, std::int32_t begin, std::int32_t end,
                                              float* values)
{
  bool isOnLine = std::abs(row.step[0]) <= largestStepOnLine;
  for (int d = 1; d < D; ++d)
    isOnLine = isOnLine && std::abs(row.step[d]) <= roundingOfStep;
  Located<D, Real> located;
  Real slopes[D][splineBlockSize];
  for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end); at += splineBlockSize) {
    const std::size_t count = std::min(splineBlockSize, static_cast<std::size_t>(end) - at);
    locate<D, Order>(image, row, at, count, located);
    if (isOnLine)
      evaluateOnLine<D, Order>(image, located, count, values + at);
    else
      evaluateBlock<D, Order, false>(image, located, count, values + at, slopes);
  }
}

template <int D, int Order, class Coefficient, class Real>
TESSERA_MULTIVERSION void
SplineBatch<D, Order, Coefficient, Real>::gradients(const SplineImage<D, Coefficient>& image,
                                                    const ListSamples<D>& points, float* values,
                                                    float* const* gradients, std::uint8_t* inside)
{
  evaluateBatch<D, Order, true, Real>(image, points, values, gradients, inside);
}

template <int D, int Order, class Coefficient, class Real>
void evaluateWith(const SplineImage<D, Coefficient>& image, const ListSamples<D>& points, float* values,
                  float* const* gradients, std::uint8_t* inside)
{
  using Batch = SplineBatch<D, Order, Coefficient, Real>;
  if (gradients)
    Batch::gradients(image, points, values, gradients, inside);
  else
    Batch::values(image, points, values, inside);
}

}
