#pragma once

#include "Components/FieldInterpolators/Shared/FieldKernels.cuh"
#include "Components/FieldInterpolators/Shared/TileAxis.h"

// Code that the CUDA methods on whole tiles share.
namespace tessera {

constexpr int largestTileOnCuda = 32;

/// A field cut into tiles, with the table entries of each position in a tile. It is passed by value, so that
/// it lies in the constant memory of a kernel.
struct TiledField {
  TileAxis axes[3];
  float4 entries[3][largestTileOnCuda];
  ControlGrid grid;
  FieldStore store;

  TESSERA_HOST_DEVICE std::size_t voxel(int x, int y, int z) const
  {
    return (static_cast<std::size_t>(z) * axes[1].voxels + y) * axes[0].voxels + x;
  }
  TESSERA_HOST_DEVICE bool contains(int axis, int voxel) const
  {
    return voxel >= 0 && voxel < axes[axis].voxels;
  }
  TESSERA_HOST_DEVICE bool inside(int axis, int voxel) const
  {
    return voxel >= axes[axis].insideFirst && voxel < axes[axis].insideEnd;
  }
  /// The nearest control point in the grid. Voxels outside of the valid region would read others, and ignore
  /// them.
  TESSERA_HOST_DEVICE int nearestPoint(int axis, int point) const
  {
    const int last = grid.points[axis] - 1;
    return point < 0 ? 0 : point < last ? point : last;
  }
};

template <class Entry, int D>
TiledField tiledFieldOf(const AlignedField<D>& field, const FieldCoefficients& coefficients,
                        const FieldTarget& target)
{
  TiledField tiled{{}, {}, controlGridOf(field, coefficients), fieldStoreOf(field, target)};
  for (int d = 0; d < D; ++d) {
    tiled.axes[d] = tileAxisOf(field.axes[d], Entry::order);
    for (int r = 0; r < tiled.axes[d].tile; ++r)
      tiled.entries[d][r] = Entry::of(supportInTile(tiled.axes[d], r, Entry::order));
  }
  return tiled;
}

/// Copies the table entries to shared memory; all threads of the block take part.
__device__ inline void copyEntries(const TiledField& field, float4 (&entries)[3][largestTileOnCuda])
{
  for (int i = threadIdx.x; i < 3 * largestTileOnCuda; i += blockDim.x)
    entries[i / largestTileOnCuda][i % largestTileOnCuda] =
        field.entries[i / largestTileOnCuda][i % largestTileOnCuda];
}

}
