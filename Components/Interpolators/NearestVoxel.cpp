#include "Components/Interpolators/NearestVoxel.h"

#include "Components/Interpolators/RowSpan.h"
#include "Core/Compute/HostDevice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

/// Per mm of index axes, not yet turned.
template <int D>
Vec<D> centralDifferences(const Image<D>& image, const Size<D>& nearest, std::size_t offset)
{
  Vec<D> differences;
  std::size_t stride = 1;
  for (int d = 0; d < D; ++d) {
    const std::size_t n = image.geometry.size[d];
    const float above = image.voxels[nearest[d] + 1 < n ? offset + stride : offset];
    const float below = image.voxels[nearest[d] > 0 ? offset - stride : offset];
    differences[d] = 0.5 * (static_cast<double>(above) - static_cast<double>(below));
    stride *= n;
  }
  return differences;
}

/// Offsets of the voxels nearest to points [begin, end) of a row, all inside; false if one lies midway between two to within
/// `margin`.
template <int D, NearestRule Rule>
struct NearestOfRow {
  TESSERA_MULTIVERSION_TO_V4 static bool offsets(const Size<D>& size, const IndexRow<D>& row, std::int32_t begin, std::int32_t end,
                                                 double margin, std::int64_t* offsets)
  {
    std::int32_t undecided = 0;
    std::int64_t stride = 1;
    for (int d = 0; d < D; ++d) {
      const auto last = static_cast<std::int32_t>(size[d]) - 1;
      for (std::int32_t i = 0; i < end - begin; ++i) {
        const double index = indexOfRow<D>(row, d, begin + i);
        const double behind = Rule == NearestRule::exact ? index + 0.5 : static_cast<double>(static_cast<float>(index) + 0.5f);
        const auto nearest = static_cast<std::int32_t>(behind); // not negative
        const double beyond = behind - nearest;
        undecided |= (beyond < margin ? 1 : 0) | (beyond > 1 - margin ? 1 : 0);
        offsets[i] = (d > 0 ? offsets[i] : 0) + std::min(nearest, last) * stride;
      }
      stride *= static_cast<std::int64_t>(size[d]);
    }
    return undecided == 0;
  }
};

}

template <int D>
bool evaluateNearestRow(const Image<D>& image, NearestRule rule, const IndexRow<D>& row, float* values, RowSpan& inside)
{
  const Size<D>& size = image.geometry.size;
  if (!insideOfRow<D>(row, size, inside))
    return false;
  std::array<std::int64_t, batchCapacity> offsets;
  const double largest = static_cast<double>(*std::max_element(size.begin(), size.end()));
  const bool decided =
      rule == NearestRule::exact
          ? NearestOfRow<D, NearestRule::exact>::offsets(size, row, inside.begin, inside.end, rowMargin, offsets.data())
          : NearestOfRow<D, NearestRule::inFloat>::offsets(
              size, row, inside.begin, inside.end, rowMargin + 2 * largest * std::numeric_limits<float>::epsilon(), offsets.data());
  for (std::int32_t i = inside.begin; i < inside.end && decided; ++i)
    values[i] = image.voxels[static_cast<std::size_t>(offsets[i - inside.begin])];
  return decided;
}

template <int D>
void evaluateNearest(const Image<D>& image, const PointToIndex<D>& pointToIndex, NearestRule rule, const ListSamples<D>& points,
                     float* values, float* const* gradients, std::uint8_t* inside)
{
  const Matrix<D> covectorFromIndex = transpose<D>(pointToIndex.fromOffset);
  for (std::size_t i = 0; i < points.count; ++i) {
    Vec<D> point;
    for (int d = 0; d < D; ++d)
      point[d] = points.pointMm[d][i];
    const Vec<D> index = pointToIndex(point);
    Size<D> nearest{};
    std::size_t offset = 0, stride = 1;
    bool within = true;
    for (int d = 0; d < D; ++d) {
      const std::size_t n = image.geometry.size[d];
      within = within && index[d] >= -0.5 && index[d] < static_cast<double>(n) - 0.5;
      const double behind = rule == NearestRule::exact ? index[d] + 0.5 : static_cast<float>(index[d]) + 0.5f;
      nearest[d] = within ? std::min(static_cast<std::size_t>(std::floor(behind)), n - 1) : 0;
      offset += nearest[d] * stride;
      stride *= n;
    }
    inside[i] = within ? 1 : 0;
    values[i] = within ? image.voxels[offset] : 0.0f;
    if (!gradients)
      continue;
    const Vec<D> gradient = within ? apply<D>(covectorFromIndex, centralDifferences<D>(image, nearest, offset)) : Vec<D>{};
    for (int d = 0; d < D; ++d)
      gradients[d][i] = static_cast<float>(gradient[d]);
  }
}

#define TESSERA_INSTANTIATE(D)                                                                                                     \
  template void evaluateNearest<D>(const Image<D>&, const PointToIndex<D>&, NearestRule, const ListSamples<D>&, float*,            \
                                   float* const*, std::uint8_t*);                                                                  \
  template bool evaluateNearestRow<D>(const Image<D>&, NearestRule, const IndexRow<D>&, float*, RowSpan&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
