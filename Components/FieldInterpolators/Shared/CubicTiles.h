#pragma once

#include "Components/FieldInterpolators/Shared/CpuFieldRows.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// The four cubic weights of each voxel of an axis as the fractions of three linear interpolations (Sigg and
/// Hadwiger, "Fast third-order texture filtering", 2005): `low` from control point 0 to 1, `high` from 2 to
/// 3, and `between` from the first result to the second. Each array has AxisTable::padding more values behind
/// its end.
struct LinearAxis {
  explicit LinearAxis(const AxisTable&);

  int voxels, points;
  std::vector<AxisRun> runs;
  std::vector<float> low, high, between;
};

/// The voxels that share 4^D control points, for one component. In 2D there is one slice (z) of voxels and of
/// control points.
struct CubicTile {
  const LinearAxis *x, *y, *z;
  AxisRun runX, runY, runZ;
  const float* points;              // its first control point
  std::size_t pointRow, pointSlice; // distances between neighbouring rows and slices of control points
  /// Voxel (i, j, k) of the tile is written to k * valueSlice + j * valueRow + i.
  float* values;
  std::size_t valueRow, valueSlice;

  /// Rows may be written in whole vectors of this many values.
  static constexpr int vector = 8;
  static constexpr int largest = 32; // largest number of voxels along an axis
  int vectors() const { return (runX.voxels + vector - 1) / vector; }
};

/// Fills the target tile by tile, on all threads. `computeTile` is called for the tiles inside the valid
/// region that have a voxel of the mask.
template <int D>
void fillByCubicTiles(Context&, const AlignedField<D>&, const double* coefficients, const FieldTarget&,
                      void (*computeTile)(const CubicTile&));

}
