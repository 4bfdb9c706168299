#include "Components/Interpolators/Shared/LinearBatch.h"

#include "Components/Interpolators/Shared/SplineSupport.h"
#include "Core/Compute/Math/LinearMix.h"

#include <cstring>

namespace tessera {
namespace {

/// The voxels around the points of a block, as pairs of neighbours along x: of 2 rows in 2D, of 4 in 3D,
/// where y changes first.
template <int D>
struct Corners {
  static constexpr int rows = 1 << (D - 1);
  float pairs[rows][2 * splineBlockSize];

  template <class Real>
  TESSERA_ALWAYS_INLINE void gather(const SplineImage<D>& image, const Located<D, Real>& located,
                                    std::size_t count)
  {
    std::int64_t voxels[splineBlockSize];
    const auto width = static_cast<std::int64_t>(image.size[0]),
               height = static_cast<std::int64_t>(image.size[1]);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t row = located.first[1][i];
      if constexpr (D == 3)
        row += located.first[2][i] * height;
      voxels[i] = located.first[0][i] + row * width;
    }
    const std::int64_t strides[4] = {0, width, width * height, width * height + width};
    for (std::size_t i = 0; i < count; ++i) {
      if (located.place[i] != Located<D, Real>::interior) {
        gatherAtBorder(image, located, i);
        continue;
      }
      for (int r = 0; r < rows; ++r)
        std::memcpy(&pairs[r][2 * i], image.coefficients + voxels[i] + strides[r], 2 * sizeof(float));
    }
  }

  /// Gathers the corners of cells that begin at these voxels and lie wholly in the image.
  TESSERA_ALWAYS_INLINE void gatherInterior(const SplineImage<D>& image,
                                            const std::int64_t (&voxels)[splineBlockSize], std::size_t count)
  {
    const auto width = static_cast<std::int64_t>(image.size[0]),
               plane = width * static_cast<std::int64_t>(image.size[1]);
    const std::int64_t strides[4] = {0, width, plane, plane + width};
    for (std::size_t i = 0; i < count; ++i)
      for (int r = 0; r < rows; ++r)
        std::memcpy(&pairs[r][2 * i], image.coefficients + voxels[i] + strides[r], 2 * sizeof(float));
  }

private:
  template <class Real>
  void gatherAtBorder(const SplineImage<D>& image, const Located<D, Real>& located, std::size_t i)
  {
    float support[2 * rows] = {};
    std::int32_t first[D];
    for (int d = 0; d < D; ++d)
      first[d] = located.first[d][i];
    if (located.place[i] == Located<D, Real>::nearBorder)
      copySupport<D, 1>(image, first, 2, support);
    for (int r = 0; r < rows; ++r)
      std::memcpy(&pairs[r][2 * i], support + 2 * r, 2 * sizeof(float));
  }
};

/// The value and the derivatives along the index axes.
template <int D, bool WithGradient, class Real>
TESSERA_ALWAYS_INLINE Real mixCorners(const Corners<D>& corners, const Real (&t)[D][splineBlockSize],
                                      std::size_t i, Real (&slope)[D])
{
  Real low[Corners<D>::rows], high[Corners<D>::rows], fraction[D];
  for (int r = 0; r < Corners<D>::rows; ++r) {
    low[r] = corners.pairs[r][2 * i];
    high[r] = corners.pairs[r][2 * i + 1];
  }
  for (int d = 0; d < D; ++d)
    fraction[d] = t[d][i];
  return mixLinearly<D, WithGradient>(low, high, fraction, slope);
}

template <int D, bool WithGradient, class Real>
TESSERA_ALWAYS_INLINE void evaluateBlocks(const SplineImage<D>& image, const ListSamples<D>& points,
                                          float* values, float* const* gradients, std::uint8_t* inside)
{
  Real fromIndexSlopes[D][D]; // d value / d point = (d index / d point)^T d value / d index
  for (int d = 0; d < D; ++d)
    for (int j = 0; j < D; ++j)
      fromIndexSlopes[d][j] = static_cast<Real>(image.pointToIndex.fromOffset[j][d]);
  Located<D, Real> located;
  Corners<D> corners;
  for (std::size_t begin = 0; begin < points.count; begin += splineBlockSize) {
    const std::size_t count = std::min(splineBlockSize, points.count - begin);
    locate<D, 1>(image, points, begin, count, located);
    corners.gather(image, located, count);
    float* __restrict to[D];
    for (int d = 0; d < D; ++d)
      to[d] = WithGradient ? gradients[d] + begin : nullptr;
    float* __restrict valuesOfBlock = values + begin;
    for (std::size_t i = 0; i < count; ++i) {
      Real slope[D] = {};
      valuesOfBlock[i] = static_cast<float>(mixCorners<D, WithGradient>(corners, located.t, i, slope));
      if constexpr (WithGradient)
        for (int d = 0; d < D; ++d) {
          Real sum = fromIndexSlopes[d][0] * slope[0];
          for (int j = 1; j < D; ++j)
            sum += fromIndexSlopes[d][j] * slope[j];
          to[d][i] = static_cast<float>(sum);
        }
    }
    for (std::size_t i = 0; i < count; ++i)
      inside[begin + i] = located.place[i] == Located<D, Real>::outside ? 0 : 1;
  }
}

}

template <int D, class Real>
TESSERA_MULTIVERSION_TO_V4 void LinearBatch<D, Real>::valuesAlone(const SplineImage<D>& image,
                                                                  const ListSamples<D>& points, float* values,
                                                                  std::uint8_t* inside)
{
  evaluateBlocks<D, false, Real>(image, points, values, nullptr, inside);
}

template <int D, class Real>
TESSERA_MULTIVERSION_TO_V4 void
LinearBatch<D, Real>::withGradients(const SplineImage<D>& image, const ListSamples<D>& points, float* values,
                                    float* const* gradients, std::uint8_t* inside)
{
  evaluateBlocks<D, true, Real>(image, points, values, gradients, inside);
}

template <int D, class Real>
TESSERA_MULTIVERSION_TO_V4 void
LinearBatch<D, Real>::interiorOfRow(const SplineImage<D>& image, const IndexRow<D>& row, std::int32_t begin,
                                    std::int32_t end, float* values)
{
  Corners<D> corners;
  std::int64_t voxels[splineBlockSize];
  Real t[D][splineBlockSize], unused[D];
  for (std::int32_t at = begin; at < end; at += splineBlockSize) {
    const auto count = static_cast<std::int32_t>(std::min<std::ptrdiff_t>(splineBlockSize, end - at));
    std::fill_n(voxels, count, 0);
    std::int64_t stride = 1;
    for (int d = 0; d < D; ++d) {
      for (std::int32_t i = 0; i < count; ++i) {
        const double index = indexOfRow<D>(row, d, at + i);
        // Conversion rounds down, since indices are not negative.
        const auto floored = static_cast<std::int32_t>(index);
        t[d][i] = static_cast<Real>(index - floored);
        voxels[i] += floored * stride;
      }
      stride *= static_cast<std::int64_t>(image.size[d]);
    }
    corners.gatherInterior(image, voxels, static_cast<std::size_t>(count));
    float* const __restrict to = values + at;
    for (std::int32_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(mixCorners<D, false>(corners, t, static_cast<std::size_t>(i), unused));
  }
}

template <int D, class Real>
void LinearBatch<D, Real>::borderOfRow(const SplineImage<D>& image, const IndexRow<D>& row,
                                       std::int32_t begin, std::int32_t end, float* values)
{
  Located<D, Real> located;
  Corners<D> corners;
  Real unused[D];
  for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end); at += splineBlockSize) {
    const std::size_t count = std::min(splineBlockSize, static_cast<std::size_t>(end) - at);
    locate<D, 1>(image, row, at, count, located);
    corners.gather(image, located, count);
    for (std::size_t i = 0; i < count; ++i)
      values[at + i] = static_cast<float>(mixCorners<D, false>(corners, located.t, i, unused));
  }
}

template <int D, class Real>
bool LinearBatch<D, Real>::evaluateRow(const SplineImage<D>& image, const IndexRow<D>& row, float* values,
                                       RowSpan& inside)
{
  if (!insideOfRow<D>(row, image.size, inside))
    return false;
  Vec<D> first{}, last;
  for (int d = 0; d < D; ++d)
    last[d] = static_cast<double>(image.size[d]) - 1;
  RowSpan interior = withinAll<D>(row, first, last);
  if (interior.begin == interior.end)
    interior = {inside.end, inside.end};
  borderOfRow(image, row, inside.begin, interior.begin, values);
  interiorOfRow(image, row, interior.begin, interior.end, values);
  borderOfRow(image, row, interior.end, inside.end, values);
  return true;
}

template class LinearBatch<2, float>;
template class LinearBatch<3, float>;
template class LinearBatch<2, double>;
template class LinearBatch<3, double>;

}
