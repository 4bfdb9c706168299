#include "Components/Interpolators/NearestVoxel.h"

#include <algorithm>
#include <cmath>

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

#define TESSERA_INSTANTIATE(D)                                                                                                    \
  template void evaluateNearest<D>(const Image<D>&, const PointToIndex<D>&, NearestRule, const ListSamples<D>&, float*,           \
                                   float* const*, std::uint8_t*);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
