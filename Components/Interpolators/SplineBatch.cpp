#include "Components/Interpolators/SplineBatch.h"

#include "Core/Compute/HostDevice.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

constexpr std::size_t blockSize = 128;   // points at once: their indices, weights and corners stay in the first-level cache
constexpr std::size_t prefetchDistance = 6;   // points

/// Weights of the Order + 1 knots around a point as polynomials of t in [0, 1), padded to whole vectors:
/// w_k = sum over j of value[j][k] t^j. Built by the recursion of uniform B-splines (de Boor),
/// n w^n_k = (n - k + t) w^(n-1)_(k-1) + (k + 1 - t) w^(n-1)_k.
template <int Order>
struct WeightPolynomials {
  static constexpr int lanes = Order < 4 ? 4 : 8;
  float value[Order + 1][lanes] = {};
  float slope[Order][lanes] = {};

  constexpr WeightPolynomials()
  {
    double w[Order + 1][Order + 1] = {{1}};   // [k][power]
    for (int n = 1; n <= Order; ++n)
      for (int k = n; k >= 0; --k) {
        double next[Order + 1] = {};
        for (int j = 0; j < n; ++j) {
          const double left = k > 0 ? w[k - 1][j] : 0, right = k < n ? w[k][j] : 0;
          next[j] += ((n - k) * left + (k + 1) * right) / n;
          next[j + 1] += (left - right) / n;
        }
        for (int j = 0; j <= n; ++j)
          w[k][j] = next[j];
      }
    for (int k = 0; k <= Order; ++k)
      for (int j = 0; j <= Order; ++j) {
        value[j][k] = static_cast<float>(w[k][j]);
        if (j > 0)
          slope[j - 1][k] = static_cast<float>(j * w[k][j]);
      }
  }
};

template <int Lanes>
struct VectorOf {
  typedef float type __attribute__((vector_size(Lanes * sizeof(float))));
};

template <int Order>
struct Kernel {
  static constexpr int lanes = WeightPolynomials<Order>::lanes;
  using Vector = typename VectorOf<lanes>::type;
  static constexpr WeightPolynomials<Order> polynomials{};

  static TESSERA_ALWAYS_INLINE Vector load(const float* from)
  {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }

  template <int Count>
  static TESSERA_ALWAYS_INLINE Vector horner(const float (&table)[Count][lanes], float t)
  {
    Vector w = load(table[Count - 1]);
    for (int j = Count - 2; j >= 0; --j)
      w = w * t + load(table[j]);
    return w;
  }

  static TESSERA_ALWAYS_INLINE float sum(Vector v)
  {
    float pair[lanes];
    std::memcpy(pair, &v, sizeof v);
    if constexpr (lanes == 4)
      return (pair[0] + pair[2]) + (pair[1] + pair[3]);
    else
      return ((pair[0] + pair[4]) + (pair[2] + pair[6])) + ((pair[1] + pair[5]) + (pair[3] + pair[7]));
  }
};

/// Where the points of a block lie: first knot of their support, fraction, and what has to be done about borders.
template <int D>
struct Located {
  enum : std::uint8_t { outside = 0, interior = 1, nearBorder = 2 };
  std::int32_t first[D][blockSize];
  float t[D][blockSize];
  std::uint8_t place[blockSize];
};

template <int D, int Order>
TESSERA_ALWAYS_INLINE void locate(const SplineImage<D>& image, const ListSamples<D>& points, std::size_t begin, std::size_t count,
                                  Located<D>& located)
{
  std::int32_t within[blockSize], safe[blockSize];
  double index[D][blockSize];
  for (std::size_t i = 0; i < count; ++i)
    within[i] = safe[i] = 1;
  for (int d = 0; d < D; ++d) {
    const double end = static_cast<double>(image.size[d]) - 0.5;
    for (std::size_t i = 0; i < count; ++i) {
      double sum = image.indexFromOffset[d][0] * (points.pointMm[0][begin + i] - image.originMm[0]);
      for (int j = 1; j < D; ++j)
        sum += image.indexFromOffset[d][j] * (points.pointMm[j][begin + i] - image.originMm[j]);
      const std::int32_t in = sum >= -0.5 && sum < end ? 1 : 0;   // false for NaN
      within[i] &= in;
      index[d][i] = in ? sum : 0.0;
    }
  }
  for (int d = 0; d < D; ++d) {
    const auto last = static_cast<std::int32_t>(image.size[d]) - 1;
    const bool closes = Order == 1 && image.lastVoxelClosesCell;
    for (std::size_t i = 0; i < count; ++i) {
      const double shifted = index[d][i] + (Order % 2 == 0 ? 0.5 : 0.0);
      std::int32_t floored = static_cast<std::int32_t>(shifted);
      floored -= static_cast<double>(floored) > shifted ? 1 : 0;
      floored -= closes && shifted == static_cast<double>(last) ? 1 : 0;
      located.t[d][i] = static_cast<float>(shifted - static_cast<double>(floored));
      const std::int32_t first = floored - Order / 2;
      located.first[d][i] = first;
      safe[i] &= (first >= 0 ? 1 : 0) & (first + Order <= last ? 1 : 0);
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    located.place[i] = static_cast<std::uint8_t>(within[i] * (2 - safe[i]));
}

inline std::size_t folded(std::int32_t index, std::size_t size, EdgeRule rule)
{
  const auto last = static_cast<std::int32_t>(size) - 1;
  if (rule == EdgeRule::clamp || last == 0)
    return static_cast<std::size_t>(std::clamp(index, 0, last));
  while (index < 0 || index > last)
    index = index < 0 ? -index : 2 * last - index;
  return static_cast<std::size_t>(index);
}

/// Copies the support of a point near the border: rows of `lanes` coefficients, y rows in each z plane.
template <int D, int Order>
__attribute__((noinline)) void copySupport(const SplineImage<D>& image, const std::int32_t (&first)[D], int lanes, float* support)
{
  constexpr int width = Order + 1;
  std::size_t column[width];
  for (int k = 0; k < width; ++k)
    column[k] = folded(first[0] + k, image.size[0], image.edges);
  for (int z = 0; z < (D == 3 ? width : 1); ++z) {
    const std::size_t plane = D == 3 ? folded(first[D - 1] + z, image.size[D - 1], image.edges) * image.size[0] * image.size[1] : 0;
    for (int y = 0; y < width; ++y) {
      const float* const row = image.coefficients + plane + folded(first[1] + y, image.size[1], image.edges) * image.size[0];
      for (int k = 0; k < width; ++k)
        support[(z * width + y) * lanes + k] = row[column[k]];
    }
  }
}

/// Offset of the support of point i, and its rows; near the border in `copy`.
template <int D, int Order, int Lanes>
struct Support {
  const float* rows;
  std::size_t rowStride, planeStride;
  alignas(32) float copy[(D == 3 ? Order + 1 : 1) * (Order + 1) * Lanes] = {};

  explicit Support(const SplineImage<D>& image) : rows(nullptr), rowStride(image.size[0]), planeStride(image.size[0] * image.size[1]) {}

  /// Scattered points wait for memory, not for arithmetic: rows of a later point are asked for early.
  static TESSERA_ALWAYS_INLINE void prefetch(const SplineImage<D>& image, const Located<D>& located, std::size_t i)
  {
    if (located.place[i] != Located<D>::interior)
      return;
    const float* const corner = image.coefficients + offsetOf(image, located, i);
    for (std::size_t z = 0; z < (D == 3 ? Order + 1 : 1); ++z)
      for (std::size_t y = 0; y <= Order; ++y)
        __builtin_prefetch(corner + image.size[0] * (y + z * image.size[1]));
  }

  static TESSERA_ALWAYS_INLINE std::size_t offsetOf(const SplineImage<D>& image, const Located<D>& located, std::size_t i)
  {
    std::size_t offset = static_cast<std::size_t>(located.first[D - 1][i]);
    for (int d = D - 2; d >= 0; --d)
      offset = offset * image.size[d] + static_cast<std::size_t>(located.first[d][i]);
    return offset;
  }

  TESSERA_ALWAYS_INLINE void moveTo(const SplineImage<D>& image, const Located<D>& located, std::size_t i)
  {
    if (located.place[i] == Located<D>::interior) {
      rows = image.coefficients + offsetOf(image, located, i);
      rowStride = image.size[0];
      planeStride = image.size[0] * image.size[1];
      return;
    }
    std::int32_t first[D];
    for (int d = 0; d < D; ++d)
      first[d] = located.first[d][i];
    copySupport<D, Order>(image, first, Lanes, copy);
    rows = copy;
    rowStride = Lanes;
    planeStride = Lanes * (Order + 1);
  }
};

/// Value and derivatives along the index axes, at point i.
template <int D, int Order, bool WithGradient>
TESSERA_ALWAYS_INLINE void evaluatePoint(const Support<D, Order, Kernel<Order>::lanes>& support, const Located<D>& located, std::size_t i,
                                         float& value, float (&slope)[D])
{
  using K = Kernel<Order>;
  using Vector = typename K::Vector;
  Vector weight[D], derivative[D];
  float w[D][K::lanes], dw[D][K::lanes];
  for (int d = 0; d < D; ++d) {
    weight[d] = K::horner(K::polynomials.value, located.t[d][i]);
    std::memcpy(w[d], &weight[d], sizeof weight[d]);
    if constexpr (WithGradient) {
      derivative[d] = K::horner(K::polynomials.slope, located.t[d][i]);
      std::memcpy(dw[d], &derivative[d], sizeof derivative[d]);
    }
  }
  Vector all{}, alongY{}, alongZ{};
  for (int z = 0; z < (D == 3 ? Order + 1 : 1); ++z) {
    const float* const plane = support.rows + static_cast<std::size_t>(z) * support.planeStride;
    Vector rows{}, rowsY{};
    for (int y = 0; y <= Order; ++y) {
      const Vector row = K::load(plane + static_cast<std::size_t>(y) * support.rowStride);
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
  value = K::sum(all * weight[0]);
  if constexpr (WithGradient) {
    slope[0] = K::sum(all * derivative[0]);
    slope[1] = K::sum(alongY * weight[0]);
    if constexpr (D == 3)
      slope[2] = K::sum(alongZ * weight[0]);
  }
}

/// a + t (b - a).
TESSERA_ALWAYS_INLINE float mix(float a, float b, float t)
{
  return a + t * (b - a);
}

/// Order 1: corners are gathered first, then all points of the block are worked out in vectors.
template <int D>
struct Corners {
  float value[1 << D][blockSize];   // bit 0: x, bit 1: y, bit 2: z

  TESSERA_ALWAYS_INLINE void gather(const SplineImage<D>& image, const Located<D>& located, std::size_t count)
  {
    Support<D, 1, 2> support(image);
    for (std::size_t i = 0; i < count; ++i) {
      if (located.place[i] == Located<D>::outside) {
        for (int c = 0; c < (1 << D); ++c)
          value[c][i] = 0;
        continue;
      }
      support.moveTo(image, located, i);
      for (int c = 0; c < (1 << D); c += 2) {
        const float* const row
          = support.rows + static_cast<std::size_t>(c >> 1 & 1) * support.rowStride + static_cast<std::size_t>(c >> 2) * support.planeStride;
        value[c][i] = row[0];
        value[c + 1][i] = row[1];
      }
    }
  }

  template <bool WithGradient>
  TESSERA_ALWAYS_INLINE void mixPoint(const Located<D>& located, std::size_t i, float& result, float (&slope)[D]) const
  {
    const float tx = located.t[0][i], ty = located.t[1][i];
    float rows[1 << (D - 1)], differences[1 << (D - 1)];
    for (int r = 0; r < (1 << (D - 1)); ++r) {
      rows[r] = mix(value[2 * r][i], value[2 * r + 1][i], tx);
      differences[r] = value[2 * r + 1][i] - value[2 * r][i];
    }
    if constexpr (D == 2) {
      result = mix(rows[0], rows[1], ty);
      if constexpr (WithGradient) {
        slope[0] = mix(differences[0], differences[1], ty);
        slope[1] = rows[1] - rows[0];
      }
    } else {
      const float tz = located.t[2][i];
      const float front = mix(rows[0], rows[1], ty), back = mix(rows[2], rows[3], ty);
      result = mix(front, back, tz);
      if constexpr (WithGradient) {
        slope[0] = mix(mix(differences[0], differences[1], ty), mix(differences[2], differences[3], ty), tz);
        slope[1] = mix(rows[1] - rows[0], rows[3] - rows[2], tz);
        slope[2] = back - front;
      }
    }
  }
};

/// Values and index-axis derivatives of a block; zero outside.
template <int D, int Order, bool WithGradient>
TESSERA_ALWAYS_INLINE void evaluateBlock(const SplineImage<D>& image, const Located<D>& located, std::size_t count, float* values,
                                         float (&slopes)[D][blockSize])
{
  if constexpr (Order == 1) {
    Corners<D> corners;
    corners.gather(image, located, count);
    for (std::size_t i = 0; i < count; ++i) {
      float value = 0, slope[D] = {};
      corners.template mixPoint<WithGradient>(located, i, value, slope);
      values[i] = value;
      for (int d = 0; d < D; ++d)
        slopes[d][i] = slope[d];
    }
  } else {
    Support<D, Order, Kernel<Order>::lanes> support(image);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + prefetchDistance < count)
        support.prefetch(image, located, i + prefetchDistance);
      float value = 0, slope[D] = {};
      if (located.place[i] != Located<D>::outside) {
        support.moveTo(image, located, i);
        evaluatePoint<D, Order, WithGradient>(support, located, i, value, slope);
      }
      values[i] = value;
      for (int d = 0; d < D; ++d)
        slopes[d][i] = slope[d];
    }
  }
}

template <int D, int Order, bool WithGradient>
TESSERA_ALWAYS_INLINE void evaluateBatch(const SplineImage<D>& image, const ListSamples<D>& points, float* values, float* const* gradients,
                                         std::uint8_t* inside)
{
  float fromIndexSlopes[D][D];   // d value / d point = (d index / d point)^T d value / d index
  for (int d = 0; d < D; ++d)
    for (int j = 0; j < D; ++j)
      fromIndexSlopes[d][j] = static_cast<float>(image.indexFromOffset[j][d]);
  Located<D> located;
  float slopes[D][blockSize];
  for (std::size_t begin = 0; begin < points.count; begin += blockSize) {
    const std::size_t count = std::min(blockSize, points.count - begin);
    locate<D, Order>(image, points, begin, count, located);
    evaluateBlock<D, Order, WithGradient>(image, located, count, values + begin, slopes);
    for (std::size_t i = 0; i < count; ++i)
      inside[begin + i] = located.place[i] == Located<D>::outside ? 0 : 1;
    if constexpr (WithGradient)
      for (int d = 0; d < D; ++d) {
        float* const gradient = gradients[d] + begin;
        for (std::size_t i = 0; i < count; ++i) {
          float sum = fromIndexSlopes[d][0] * slopes[0][i];
          for (int j = 1; j < D; ++j)
            sum += fromIndexSlopes[d][j] * slopes[j][i];
          gradient[i] = sum;
        }
      }
  }
}

}

template <int D, int Order>
TESSERA_MULTIVERSION void SplineBatch<D, Order>::values(const SplineImage<D>& image, const ListSamples<D>& points, float* values,
                                                        std::uint8_t* inside)
{
  evaluateBatch<D, Order, false>(image, points, values, nullptr, inside);
}

template <int D, int Order>
TESSERA_MULTIVERSION void SplineBatch<D, Order>::gradients(const SplineImage<D>& image, const ListSamples<D>& points, float* values,
                                                           float* const* gradients, std::uint8_t* inside)
{
  evaluateBatch<D, Order, true>(image, points, values, gradients, inside);
}

template <int D>
void evaluateSpline(const SplineImage<D>& image, int order, const ListSamples<D>& points, float* values, float* const* gradients,
                    std::uint8_t* inside)
{
  const auto run = [&]<int Order>() {
    if (gradients)
      SplineBatch<D, Order>::gradients(image, points, values, gradients, inside);
    else
      SplineBatch<D, Order>::values(image, points, values, inside);
  };
  switch (order) {
  case 1:
    return run.template operator()<1>();
  case 2:
    return run.template operator()<2>();
  case 3:
    return run.template operator()<3>();
  case 4:
    return run.template operator()<4>();
  default:
    return run.template operator()<5>();
  }
}

template void evaluateSpline<2>(const SplineImage<2>&, int, const ListSamples<2>&, float*, float* const*, std::uint8_t*);
template void evaluateSpline<3>(const SplineImage<3>&, int, const ListSamples<3>&, float*, float* const*, std::uint8_t*);

}
