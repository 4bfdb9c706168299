#pragma once

#include "Components/Interpolators/Shared/RowSpan.h"
#include "Core/Compute/Math/GridIndex.h"

namespace tessera {

constexpr std::size_t splineBlockSize =
    128; // points at once: their indices, weights and corners stay in the first-level cache
/// A point's rows are prefetched while so many points before it are computed.
constexpr std::size_t splinePrefetchDistance = 6;

/// Where the points of a block lie: first knot of the support, fraction in the cell, and whether the support
/// reaches beyond the border.
template <int D, class Real>
struct Located {
  enum : std::uint8_t { outside = 0, interior = 1, nearBorder = 2 };
  std::int32_t first[D][splineBlockSize];
  Real t[D][splineBlockSize];
  std::uint8_t place[splineBlockSize];
};

/// Locates points whose continuous indices are indexAt(axis, point).
template <int D, int Order, class Coefficient, class Real, class IndexAt>
TESSERA_ALWAYS_INLINE void locateIndices(const SplineImage<D, Coefficient>& image, std::size_t count,
                                         Located<D, Real>& located, const IndexAt& indexAt)
{
  std::int32_t within[splineBlockSize], safe[splineBlockSize];
  double index[D][splineBlockSize];
  for (std::size_t i = 0; i < count; ++i)
    within[i] = safe[i] = 1;
  for (int d = 0; d < D; ++d) {
    const double end = endOfVoxels(static_cast<std::int32_t>(image.size[d]));
    for (std::size_t i = 0; i < count; ++i) {
      const double at = indexAt(d, i);
      const std::int32_t in = isBeforeEnd(at, end) ? 1 : 0;
      within[i] &= in;
      index[d][i] = in ? at : 0.0;
    }
  }
  for (int d = 0; d < D; ++d) {
    const auto size = static_cast<std::int32_t>(image.size[d]);
    const bool closes = Order == 1 && image.lastVoxelClosesCell;
    for (std::size_t i = 0; i < count; ++i) {
      const KnotCell cell = knotCell<Order>(index[d][i], size, closes);
      located.t[d][i] = static_cast<Real>(cell.fraction);
      located.first[d][i] = cell.first;
      safe[i] &= (cell.first >= 0 ? 1 : 0) & (cell.first + Order < size ? 1 : 0);
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    located.place[i] = static_cast<std::uint8_t>(within[i] * (2 - safe[i]));
}

template <int D, int Order, class Coefficient, class Real>
TESSERA_ALWAYS_INLINE void locate(const SplineImage<D, Coefficient>& image, const ListSamples<D>& points,
                                  std::size_t begin, std::size_t count, Located<D, Real>& located)
{
  locateIndices<D, Order>(
      image, count, located, [&](int d, std::size_t i) __attribute__((always_inline)) {
        return image.pointToIndex.along(d, points.at(begin + i));
      });
}

/// Locates points [begin, begin + count) of a row.
template <int D, int Order, class Coefficient, class Real>
TESSERA_ALWAYS_INLINE void locate(const SplineImage<D, Coefficient>& image, const IndexRow<D>& row,
                                  std::size_t begin, std::size_t count, Located<D, Real>& located)
{
  locateIndices<D, Order>(
      image, count, located, [&](int d, std::size_t i) __attribute__((always_inline)) {
        return indexOfRow<D>(row, d, static_cast<std::int32_t>(begin + i));
      });
}

inline std::size_t folded(std::int32_t index, std::size_t size, EdgeRule rule)
{
  const auto last = static_cast<std::int32_t>(size) - 1;
  return static_cast<std::size_t>(rule == EdgeRule::clamp ? repeated(index, last) : mirrored(index, last));
}

/// Copies the support of a point near the border into rows of `lanes` coefficients, with mirrored voxels
/// beyond the border.
template <int D, int Order, class Coefficient>
__attribute__((noinline)) void copySupport(const SplineImage<D, Coefficient>& image,
                                           const std::int32_t (&first)[D], int lanes, Coefficient* support)
{
  constexpr int width = Order + 1;
  std::size_t column[width];
  for (int k = 0; k < width; ++k)
    column[k] = folded(first[0] + k, image.size[0], image.edges);
  for (int z = 0; z < (D == 3 ? width : 1); ++z) {
    const std::size_t plane =
        D == 3 ? folded(first[D - 1] + z, image.size[D - 1], image.edges) * image.size[0] * image.size[1] : 0;
    for (int y = 0; y < width; ++y) {
      const Coefficient* const row =
          image.coefficients + plane + folded(first[1] + y, image.size[1], image.edges) * image.size[0];
      for (int k = 0; k < width; ++k)
        support[(z * width + y) * lanes + k] = row[column[k]];
    }
  }
}

/// The offset of the support of point i, and its rows; near the border the rows are in `copy`.
template <int D, int Order, int Lanes, class Coefficient>
struct SplineSupport {
  const Coefficient* rows;
  std::size_t rowStride, planeStride;
  alignas(32) Coefficient copy[(D == 3 ? Order + 1 : 1) * (Order + 1) * Lanes] = {};

  explicit SplineSupport(const SplineImage<D, Coefficient>& image)
      : rows(nullptr), rowStride(image.size[0]), planeStride(image.size[0] * image.size[1])
  {
  }

  /// Scattered points wait for memory and not for arithmetic, so the rows of a later point are prefetched.
  template <class Real>
  static TESSERA_ALWAYS_INLINE void prefetch(const SplineImage<D, Coefficient>& image,
                                             const Located<D, Real>& located, std::size_t i)
  {
    if (located.place[i] != Located<D, Real>::interior)
      return;
    const Coefficient* const corner = image.coefficients + offsetOf(image, located, i);
    for (std::size_t z = 0; z < (D == 3 ? Order + 1 : 1); ++z)
      for (std::size_t y = 0; y <= Order; ++y)
        __builtin_prefetch(corner + image.size[0] * (y + z * image.size[1]));
  }

  template <class Real>
  static TESSERA_ALWAYS_INLINE std::size_t offsetOf(const SplineImage<D, Coefficient>& image,
                                                    const Located<D, Real>& located, std::size_t i)
  {
    std::size_t offset = static_cast<std::size_t>(located.first[D - 1][i]);
    for (int d = D - 2; d >= 0; --d)
      offset = offset * image.size[d] + static_cast<std::size_t>(located.first[d][i]);
    return offset;
  }

  template <class Real>
  TESSERA_ALWAYS_INLINE void moveTo(const SplineImage<D, Coefficient>& image, const Located<D, Real>& located,
                                    std::size_t i)
  {
    if (located.place[i] == Located<D, Real>::interior) {
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

}
