#pragma once

#include "Components/FieldInterpolators/Shared/CpuFieldRows.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// The four weights of a cubic along an axis as linear interpolations (Sigg and Hadwiger, "Fast third-order
/// texture filtering", 2005): `low` of the way from control point 0 to 1, `high` from 2 to 3, `between` from
/// the first result to the second. Of every voxel; there is room for AxisTable::padding more behind.
struct LinearAxis {
  explicit LinearAxis(const AxisTable&);

  int voxels, points;
  std::vector<AxisRun> runs;
  std::vector<float> low, high, between;
};

/// The voxels that share 4^D control points, of one component. In a plane there is one slice (z) of voxels
/// and of points.
struct CubicTile {
  const LinearAxis *x, *y, *z;
  AxisRun runX, runY, runZ;
  const float* points;              // the first of its control points
  std::size_t pointRow, pointSlice; // from one to the next
  float* values;                    // voxel (i, j, k) of the tile goes to k * valueSlice + j * valueRow + i
  std::size_t valueRow, valueSlice;

  /// Rows may be written in whole vectors of this many values.
  static constexpr int vector = 8;
  static constexpr int largest = 32; // voxels a side
  int vectors() const { return (runX.voxels + vector - 1) / vector; }
};

/// Why not: neither a cubic nor whole tiles; empty if both.
template <int D>
std::string refusalOfCubicTiles(const AlignedField<D>&);

/// Fills the target, tile by tile: `computeTile` is called for tiles inside the valid region with a voxel of
/// the mask, on all threads.
template <int D>
void fillByCubicTiles(Context&, const AlignedField<D>&, const double* coefficients, const FieldTarget&,
                      void (*computeTile)(const CubicTile&));

}
