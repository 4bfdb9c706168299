#include "Components/Interpolators/Shared/NearestVoxel.h"

#include "Components/Interpolators/Shared/RowSpan.h"
#include "Core/Compute/Math/GridIndex.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tessera {
namespace {

/// Central differences per index at the voxel with this offset.
template <int D>
Vec<D> centralDifferences(const VoxelArray<D>& image, std::int64_t voxel)
{
  Vec<D> differences;
  const auto offset = static_cast<std::size_t>(voxel);
  std::size_t stride = 1;
  for (int d = 0; d < D; ++d) {
    const std::size_t n = image.size[d], at = offset / stride % n;
    differences[d] =
        centralDifference(image.voxels + offset, static_cast<int>(at), static_cast<int>(n),
                          static_cast<long long>(stride), [](const float* from) { return *from; });
    stride *= n;
  }
  return differences;
}

/// The voxels nearest to a block of points.
template <int D>
struct NearestOfPoints {
  static constexpr std::size_t capacity = 128; // so many points at once stay in the first-level cache
  std::int32_t within[capacity];
  std::int64_t offset[capacity]; // offsets of the voxels nearest to the points that are inside

  TESSERA_MULTIVERSION_TO_V4 void find(const Size<D>& size, const PointToIndex<D>& pointToIndex,
                                       NearestRule rule, const ListSamples<D>& points, std::size_t begin,
                                       std::size_t count)
  {
    const PointToIndex<D> map = pointToIndex;
    const bool inFloat = rule == NearestRule::inFloat;
    for (std::size_t i = 0; i < count; ++i) {
      within[i] = 1;
      offset[i] = 0;
    }
    std::int64_t stride = 1;
    for (int d = 0; d < D; ++d) {
      const auto voxels = static_cast<std::int32_t>(size[d]);
      const double end = endOfVoxels(voxels);
      for (std::size_t i = 0; i < count; ++i) {
        const double index = map.along(d, points.at(begin + i));
        const std::int32_t in = isBeforeEnd(index, end) ? 1 : 0;
        within[i] &= in;
        offset[i] += nearestVoxel(in ? index : 0.0, voxels, inFloat) * stride;
      }
      stride *= static_cast<std::int64_t>(size[d]);
    }
  }
};

/// Offsets of the voxels nearest to points [begin, end) of a row, all inside. There is no result if a point
/// lies, to within `margin`, midway between two voxels.
template <int D, NearestRule Rule>
struct NearestOfRow {
  TESSERA_MULTIVERSION_TO_V4 static bool offsets(const Size<D>& size, const IndexRow<D>& row,
                                                 std::int32_t begin, std::int32_t end, double margin,
                                                 std::int64_t* offsets)
  {
    std::int32_t undecided = 0;
    std::int64_t stride = 1;
    for (int d = 0; d < D; ++d) {
      const auto last = static_cast<std::int32_t>(size[d]) - 1;
      for (std::int32_t i = 0; i < end - begin; ++i) {
        const double index = indexOfRow<D>(row, d, begin + i);
        const double behind =
            Rule == NearestRule::exact ? index + 0.5 : static_cast<double>(static_cast<float>(index) + 0.5f);
        // Conversion rounds down, since it is not negative.
        const auto nearest = static_cast<std::int32_t>(behind);
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
bool evaluateNearestRow(const VoxelArray<D>& image, NearestRule rule, const IndexRow<D>& row, float* values,
                        RowSpan& inside)
{
  const Size<D>& size = image.size;
  if (!insideOfRow<D>(row, size, inside))
    return false;
  std::array<std::int64_t, batchCapacity> offsets;
  const double largest = static_cast<double>(*std::max_element(size.begin(), size.end()));
  const bool decided =
      rule == NearestRule::exact
          ? NearestOfRow<D, NearestRule::exact>::offsets(size, row, inside.begin, inside.end, rowMargin,
                                                         offsets.data())
          : NearestOfRow<D, NearestRule::inFloat>::offsets(
              size, row, inside.begin, inside.end,
              rowMargin + 2 * largest * std::numeric_limits<float>::epsilon(), offsets.data());
  for (std::int32_t i = inside.begin; i < inside.end && decided; ++i)
    values[i] = image.voxels[static_cast<std::size_t>(offsets[i - inside.begin])];
  return decided;
}

template <int D>
void evaluateNearest(const VoxelArray<D>& image, const PointToIndex<D>& pointToIndex, NearestRule rule,
                     const ListSamples<D>& points, float* values, float* const* gradients,
                     std::uint8_t* inside)
{
  const Matrix<D> covectorFromIndex = transpose<D>(pointToIndex.fromOffset);
  NearestOfPoints<D> nearest;
  for (std::size_t begin = 0; begin < points.count; begin += NearestOfPoints<D>::capacity) {
    const std::size_t count = std::min(NearestOfPoints<D>::capacity, points.count - begin);
    nearest.find(image.size, pointToIndex, rule, points, begin, count);
    for (std::size_t i = 0; i < count; ++i) {
      const bool within = nearest.within[i] != 0;
      inside[begin + i] = within ? 1 : 0;
      values[begin + i] = within ? image.voxels[static_cast<std::size_t>(nearest.offset[i])] : 0.0f;
    }
    for (std::size_t i = 0; gradients && i < count; ++i) {
      const Vec<D> gradient =
          nearest.within[i] ? apply<D>(covectorFromIndex, centralDifferences<D>(image, nearest.offset[i]))
                            : Vec<D>{};
      for (int d = 0; d < D; ++d)
        gradients[d][begin + i] = static_cast<float>(gradient[d]);
    }
  }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(evaluateNearest<D>, evaluateNearestRow<D>);

}
