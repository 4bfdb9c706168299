#pragma once

#include "Core/Registration/FieldInterpolator.h"

#include <algorithm>
#include <cmath>

namespace tessera {

/// An axis of a lattice cut into tiles: the voxels between two neighbouring control points, which all need
/// the same control points. Tile j covers voxels j * tile - before + r, r = 0 .. tile - 1, and its control
/// points start at firstPoint + j (which may lie outside of the grid, as its voxels may lie outside of the
/// lattice). By default the one tile of a missing axis.
struct TileAxis {
  int tile = 1;
  int before = 0; // voxels of the first tile before voxel 0
  int tiles = 1;
  int firstPoint = 0;
  int points = 1;
  int voxels = 1;
  int insideFirst = 0, insideEnd = 1; // voxels in the grid's valid region
  double phase = 0; // of position r: (r + phase) / tile of the way through the tile; in [0, 1)
};

/// Of an axis with wholeTile(axis) > 0.
inline TileAxis tileAxisOf(const FieldAxis& axis, int order)
{
  TileAxis tiles;
  tiles.tile = wholeTile(axis);
  tiles.points = axis.points;
  tiles.voxels = axis.voxels;
  tiles.insideEnd = axis.voxels;
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

/// What supportOf gives for position `r` of any tile inside the grid, but for the control point it starts at.
inline AxisSupport supportInTile(const TileAxis& axis, int r, int order)
{
  return {0, (order - 1) / 2.0 + (r + axis.phase) / axis.tile, true};
}

}
