#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registration/Fields/FieldAdjointTiles.h"

#include <algorithm>

// How the adjoint of a field is cut into blocks. It depends on the field and on the memory that a block may
// share, and on nothing else.
namespace tessera::adjoint {

/// Whether any voxel lies in the support of a control point.
template <int D>
bool hasSupport(const AlignedField<D>& field)
{
  return std::all_of(field.axes.begin(), field.axes.end(),
                     [&](const FieldAxis& axis) { return axis.points > field.order && axis.voxels > 0; });
}

template <int D>
void refuseDenseGrid(const AlignedField<D>& field)
{
  for (int d = 0; d < D; ++d)
    if (field.axes[d].step > 1 + 1e-9)
      throw Error(ExitCode::usage, "adjoint of a field on CUDA: a grid spacing of "
                                       + significant(1 / field.axes[d].step, 6) + " voxels along " + "xyz"[d]
                                       + ": it is less than one. Allowed: 1 or more.");
}

inline int ceilQuotient(int a, int b)
{
  return (a + b - 1) / b;
}

inline Axis axisInTiles(const FieldAxis& field, int order, int length)
{
  Axis axis{field, order, length, ceilQuotient(field.voxels, length)};
  axis.maxPoints = std::min(static_cast<int>((length - 1) * field.step) + 2 + order, field.points);
  axis.tilesAPoint = 1 / (field.step * length);
  return axis;
}

/// The number of voxels in a chunk, chosen so that blocks of `columnTiles` fill whole waves of a large GPU
/// and few control points are shared between chunks.
inline int chunkLength(const FieldAxis& march, const Shape& shape, int columnTiles)
{
  // The number of an H200 is used on every device, because the sums of a field depend on it.
  const int blocksAWave = 132 * shape.blocksAMultiprocessor;
  constexpr int costOfChunk = 12; // cost of a chunk's begin and end, in voxels
  long best = 0, bestLength = 0;
  for (int chunks = ceilQuotient(march.voxels, maxChunk); chunks <= ceilQuotient(march.voxels, 4); ++chunks) {
    const int length = ceilQuotient(march.voxels, chunks);
    const long waves =
        (static_cast<long>(columnTiles) * ceilQuotient(march.voxels, length) + blocksAWave - 1) / blocksAWave;
    const long cost = waves * (length + costOfChunk);
    if (bestLength == 0 || cost < best) {
      best = cost;
      bestLength = length;
    }
    if (waves > 8 && chunks > 8)
      break;
  }
  return static_cast<int>(bestLength);
}

template <int D, class Sum>
Plan planOf(const AlignedField<D>& field, std::size_t maxSharedBytes)
{
  Plan plan{};
  const FieldAxis one{0, 1, 1, 1};
  const FieldAxis& march = field.axes[D - 1];
  const FieldAxis& second = D == 3 ? field.axes[1] : one;
  constexpr Shape shape = Sum::shape;
  int rows = shape.rows;
  while (rows > shape.columnsAThread && rows / 2 >= second.voxels)
    rows /= 2;
  for (;; rows /= 2) {
    plan.axes[0] = axisInTiles(field.axes[0], field.order, columns);
    plan.axes[1] = axisInTiles(second, D == 3 ? field.order : 0, rows);
    plan.axes[2] =
        axisInTiles(march, field.order, chunkLength(march, shape, plan.axes[0].tiles * plan.axes[1].tiles));
    plan.threadRows = rows / shape.columnsAThread;
    plan.maxDone = std::min(static_cast<int>(batch * march.step + 1e-6) + 1, slots);
    plan.rowPitch = plan.axes[0].maxPoints | 1;
    plan.table = ceilQuotient(plan.axes[2].length + field.order + 1, batch) * batch;
    if (rows == shape.columnsAThread || Shared<D, typename Sum::Value>::bytes(plan) <= maxSharedBytes)
      return plan;
  }
}

/// About how many tiles share a control point.
inline double tilesAPoint(const Plan& plan)
{
  double tiles = 1;
  for (const Axis& axis : plan.axes)
    tiles *= std::min<double>(axis.tiles, 1 + (axis.order + 1) / (axis.field.step * axis.length));
  return tiles;
}

}
