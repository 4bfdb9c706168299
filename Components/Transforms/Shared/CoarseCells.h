#pragma once

#include <array>
#include <cstddef>

namespace tessera {

/// The map from points (mm) to continuous indices of an image, and its size. In 2D the third axis has one
/// voxel.
struct MapToIndex {
  float matrix[3][3] = {}, offset[3] = {};
  int size[3] = {1, 1, 1};
};

constexpr std::size_t cellTile = 512; // points at once, at most

/// The places in memory of the voxels nearest to points, given by coordinate; `outside` for points outside
/// the grid.
void findNearestVoxels(const MapToIndex&, const std::array<const float*, 3>& pointsMm, std::size_t count,
                       int outside, int* places);

/// The places in memory of the lowest corners of the cells in which points lie, and where in the cells they
/// lie along each axis, from 0 to 1; -1 for points outside the centres of the outermost voxels. A single
/// voxel is as thick as it is.
void findCells(const MapToIndex&, const std::array<const float*, 3>& pointsMm, std::size_t count, int* cells,
               float (&fractions)[3][cellTile]);

/// Linear interpolation of point i in the cell whose lowest corner is at `corner`; NaN if a corner is.
template <int D>
float interpolated(const float* corner, const MapToIndex& map, const float (&fractions)[3][cellTile],
                   std::size_t i)
{
  float values[1 << D];
  for (int at = 0; at < 1 << D; ++at) {
    std::size_t place = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      place += (at >> d) & 1 && map.size[d] > 1 ? stride : 0;
      stride *= static_cast<std::size_t>(map.size[d]);
    }
    values[at] = corner[place];
  }
  for (int d = 0; d < D; ++d)
    for (int at = 0; at < 1 << (D - 1 - d); ++at)
      values[at] = values[2 * at] + fractions[d][i] * (values[2 * at + 1] - values[2 * at]);
  return values[0];
}

}
