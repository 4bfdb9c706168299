#pragma once

#include "Core/Registration/FieldInterpolator.h"

#include <cmath>

namespace tessera {

/// An axis of a lattice, cut into tiles. A tile is the voxels between two neighbouring control points, which
/// all have the same control points in their support. Tile j covers voxels j * tile - before + r, r = 0 ..
/// tile - 1. Its control points begin at firstPoint + j. Voxels of a tile may lie outside of the lattice, and
/// its control points outside of the grid. The default is the single tile of the missing axis in 2D.
struct TileAxis {
  int tile = 1;
  int before = 0; // voxels of the first tile that lie before voxel 0
  int tiles = 1;
  int firstPoint = 0;
  int points = 1;
  int voxels = 1;
  int insideFirst = 0, insideEnd = 1; // range of voxels in the grid's valid region
  double phase = 0; // position r is (r + phase) / tile of the way through the tile; in [0, 1)
};

/// The tiles of an axis with wholeTile(axis) > 0.
inline TileAxis tileAxisOf(const FieldAxis& axis, int order)
{
  TileAxis tiles{
      .tile = wholeTile(axis), .points = axis.points, .voxels = axis.voxels, .insideEnd = axis.voxels};
  while (tiles.insideFirst < tiles.insideEnd && !supportOf(axis, tiles.insideFirst, order).inside)
    ++tiles.insideFirst;
  while (tiles.insideEnd > tiles.insideFirst && !supportOf(axis, tiles.insideEnd - 1, order).inside)
    --tiles.insideEnd;
  if (tiles.insideFirst < tiles.insideEnd) {
    const double voxelsFromFirstTile = (axis.first - (order - 1) / 2.0) * tiles.tile;
    const double whole = std::floor(voxelsFromFirstTile);
    tiles.phase = voxelsFromFirstTile - whole;
    tiles.firstPoint = static_cast<int>(std::floor(whole / tiles.tile));
    tiles.before = static_cast<int>(whole) - tiles.firstPoint * tiles.tile;
  }
  tiles.tiles = (tiles.before + tiles.voxels + tiles.tile - 1) / tiles.tile;
  return tiles;
}

/// The result of supportOf for position `r` of any tile inside the grid, except for the first control point.
inline AxisSupport supportInTile(const TileAxis& axis, int r, int order)
{
  return {0, (order - 1) / 2.0 + (r + axis.phase) / axis.tile, true};
}

}
