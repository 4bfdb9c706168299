#include "Components/FieldInterpolators/VectorPerTile.h"

#include "Components/FieldInterpolators/Shared/CubicTiles.h"
#include "Components/FieldInterpolators/Shared/LaneVectors.h"

#include <cstring>

namespace tessera {
namespace {

constexpr int width = CubicTile::vector;
using Voxels = Lanes<width>;

/// A linear interpolation between two ends: its beginning, and the difference of its ends.
struct Edge {
  Voxels from, difference;

  TESSERA_ALWAYS_INLINE Voxels at(float fraction) const { return from + fraction * difference; }
};

/// Linear interpolations along x, each lane with the fractions of its voxel.
struct RowOfVoxels {
  Voxels low, high, between;

  TESSERA_ALWAYS_INLINE RowOfVoxels(const LinearAxis& x, int first)
      : low(loadLanes<width>(x.low.data() + first)), high(loadLanes<width>(x.high.data() + first)),
        between(loadLanes<width>(x.between.data() + first))
  {
  }
  /// Interpolates from one row of four control points to the next, for both pairs of columns.
  TESSERA_ALWAYS_INLINE void interpolate(const float* row, const float* nextRow, Edge* pairs) const
  {
    const auto edge = [](const Voxels& from, const Voxels& to) { return Edge{from, to - from}; };
    pairs[0] = edge(mix(row[0], row[1], low), mix(nextRow[0], nextRow[1], low));
    pairs[1] = edge(mix(row[2], row[3], high), mix(nextRow[2], nextRow[3], high));
  }
};

/// Computes the voxels of a vector in all rows of a slice of the tile (2D: of the tile). edges[row
/// pair][slice pair][column pair] are the sub-cubes' ends along y; they are already interpolated along x, and
/// in 3D along z.
template <int SlicePairs>
TESSERA_ALWAYS_INLINE void computeRows(const CubicTile& tile, const Edge (&edges)[2][SlicePairs][2],
                                       const Voxels& betweenX, float betweenZ, float* values)
{
  for (int y = tile.runY.firstVoxel; y < tile.runY.firstVoxel + tile.runY.voxels;
       ++y, values += tile.valueRow) {
    const float low = tile.y->low[y], high = tile.y->high[y], betweenY = tile.y->between[y];
    Voxels slices[SlicePairs];
    for (int p = 0; p < SlicePairs; ++p) {
      const Voxels lower = mix(edges[0][p][0].at(low), edges[0][p][1].at(low), betweenX);
      const Voxels upper = mix(edges[1][p][0].at(high), edges[1][p][1].at(high), betweenX);
      slices[p] = mix(lower, upper, betweenY);
    }
    const Voxels result = SlicePairs == 1 ? slices[0] : mix(slices[0], slices[SlicePairs - 1], betweenZ);
    std::memcpy(values, &result, sizeof(result));
  }
}

/// Interpolates the control points along z for voxel slice z: points[j][p][i] lies between slices 2 p and 2 p
/// + 1.
TESSERA_ALWAYS_INLINE void interpolateSlices(const CubicTile& tile, int z, float (&points)[4][2][4])
{
  const float fraction[2] = {tile.z->low[z], tile.z->high[z]};
  for (int j = 0; j < 4; ++j)
    for (int p = 0; p < 2; ++p) {
      const float* row = tile.points + j * tile.pointRow + 2 * p * tile.pointSlice;
      const Lanes<4> between = mix(loadLanes<4>(row), loadLanes<4>(row + tile.pointSlice), fraction[p]);
      std::memcpy(points[j][p], &between, sizeof(between));
    }
}

TESSERA_MULTIVERSION_TO_V4 void computeVolumeTile(const CubicTile& tile)
{
  for (int z = 0; z < tile.runZ.voxels; ++z) {
    const int voxelZ = tile.runZ.firstVoxel + z;
    float points[4][2][4];
    interpolateSlices(tile, voxelZ, points);
    for (int x = 0; x < tile.runX.voxels; x += width) {
      const RowOfVoxels row(*tile.x, tile.runX.firstVoxel + x);
      Edge edges[2][2][2];
      for (int j = 0; j < 2; ++j)
        for (int p = 0; p < 2; ++p)
          row.interpolate(points[2 * j][p], points[2 * j + 1][p], edges[j][p]);
      computeRows<2>(tile, edges, row.between, tile.z->between[voxelZ],
                     tile.values + z * tile.valueSlice + x);
    }
  }
}

TESSERA_MULTIVERSION_TO_V4 void computePlaneTile(const CubicTile& tile)
{
  for (int x = 0; x < tile.runX.voxels; x += width) {
    const RowOfVoxels row(*tile.x, tile.runX.firstVoxel + x);
    Edge edges[2][1][2];
    for (int j = 0; j < 2; ++j)
      row.interpolate(tile.points + 2 * j * tile.pointRow, tile.points + (2 * j + 1) * tile.pointRow,
                      edges[j][0]);
    computeRows<1>(tile, edges, row.between, 0, tile.values + x);
  }
}

}

template <int D>
void VectorPerTile<D>::displacements(Context& context, const AlignedField<D>& field,
                                     const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  fillByCubicTiles<D>(context, field, coefficients.onCpu, target,
                      D == 3 ? computeVolumeTile : computePlaneTile);
}

template <int D>
const ComponentDescription& VectorPerTile<D>::description()
{
  static const ComponentDescription description{
      "FieldInterpolator", "VectorPerTile",
      "CPU: the voxels of a tile's row in the lanes of a vector, linear interpolations; whole-voxel spacing "
      "(Zachariadis et al. 2020)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(VectorPerTile);

}
