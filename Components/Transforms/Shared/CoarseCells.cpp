#include "Components/Transforms/Shared/CoarseCells.h"

#include "Core/Compute/HostDevice.h"

#include <algorithm>

namespace tessera {
namespace {

TESSERA_ALWAYS_INLINE float indexAlong(const MapToIndex& map, int d, float x, float y, float z)
{
  return map.matrix[d][0] * x + map.matrix[d][1] * y + map.matrix[d][2] * z + map.offset[d];
}

}

TESSERA_MULTIVERSION
void findNearestVoxels(const MapToIndex& map, const std::array<const float*, 3>& pointsMm, std::size_t count,
                       int outside, int* places)
{
  const float *x = pointsMm[0], *y = pointsMm[1], *z = pointsMm[2];
  const MapToIndex m = map; // a copy, which `places` cannot overwrite, stays in registers
  const float sizes[3] = {static_cast<float>(m.size[0]), static_cast<float>(m.size[1]),
                          static_cast<float>(m.size[2])};
  for (std::size_t i = 0; i < count; ++i) {
    int place = 0;
    bool inside = true;
    for (int d = 2; d >= 0; --d) {
      const float index = indexAlong(m, d, x[i], y[i], z[i]) + 0.5f;
      inside = inside & (index >= 0) & (index < sizes[d]);
      place = place * m.size[d] + static_cast<int>(std::min(std::max(index, 0.0f), sizes[d]));
    }
    places[i] = inside ? place : outside;
  }
}

TESSERA_MULTIVERSION
void findCells(const MapToIndex& map, const std::array<const float*, 3>& pointsMm, std::size_t count,
               int* cells, float (&fractions)[3][cellTile])
{
  const float *x = pointsMm[0], *y = pointsMm[1], *z = pointsMm[2];
  const MapToIndex m = map;
  std::fill_n(cells, count, 0);
  for (int d = 2; d >= 0; --d) {
    const float last = static_cast<float>(m.size[d] - 1), border = last > 0 ? 0 : 0.5f;
    const int highest = std::max(m.size[d] - 2, 0);
    float* const fraction = fractions[d];
    for (std::size_t i = 0; i < count; ++i) {
      const float index = indexAlong(m, d, x[i], y[i], z[i]), at = std::min(std::max(index, 0.0f), last);
      const int cell = std::min(static_cast<int>(at), highest);
      fraction[i] = at - static_cast<float>(cell);
      const bool inside = (cells[i] >= 0) & (index >= -border) & (index <= last + border);
      cells[i] = inside ? cells[i] * m.size[d] + cell : -1;
    }
  }
}

}
