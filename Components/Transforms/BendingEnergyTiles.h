#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>
#include <cstddef>

#ifdef __CUDA_ARCH__
#define TESSERA_UNROLL_ALL _Pragma("unroll")
#define TESSERA_UNROLL_NOT _Pragma("unroll 1")
#else
#define TESSERA_UNROLL_NOT
#define TESSERA_UNROLL_ALL
#endif

// ExactBendingEnergy by blocks, as host-device code: what the threads of a block do between its barriers.
//
// A block owns 26 x 26 columns of control points of one component and a chunk of the last axis, along which it marches. With a
// border of 3 that is a column of 32 x 32, four a thread, whose 7 coefficients around the layer are in registers: contracted along
// the march into shared memory, then along the first axis into shared memory, then along the second. Each axis turns the sums of 0,
// 1 and 2 derivatives into those with its own (see ExactBendingEnergy::evaluate). Rows of control points far from the box's faces
// are all equal and symmetric: neighbours are added before they are weighed, and the weights are arguments of the kernel.
namespace tessera::bending {

constexpr int reach = 3, neighbours = 7, perPoint = 3 * neighbours;
constexpr int outputs = 26, extent = outputs + 2 * reach; // control points along the first two axes
constexpr int lanes = 32, warps = 8, threads = lanes * warps;
constexpr int columnsAThread = extent / warps;
constexpr int group = 4, groups = (outputs + group - 1) / group; // outputs that one thread makes at once
constexpr int rowPitch = extent + 1, layerPitch = outputs + 1;   // odd: no two rows in one memory bank
static_assert(extent == lanes && groups <= warps);

struct Axis {
  int points, firstWhole, lastWhole;
  double whole[3][reach + 1]; // their bands
  const double* rows;         // of all control points
};

/// The third axis is the last one; in 2D it is one control point with the band 1.
struct Plan {
  Axis axes[3];
  int tiles[2], chunk, chunks;
  int components;

  TESSERA_HOST_DEVICE std::size_t pointCount() const
  {
    return static_cast<std::size_t>(axes[0].points) * axes[1].points * axes[2].points;
  }
  TESSERA_HOST_DEVICE int blocks() const { return tiles[0] * tiles[1] * chunks * components; }
};

struct Shared {
  double rows[3][extent][rowPitch];    // contracted along the march
  double layer[3][extent][layerPitch]; // and along the first axis
};

struct Tile {
  int x, y, z, layers, component; // first output

  TESSERA_HOST_DEVICE Tile(const Plan& plan, int block)
  {
    x = block % plan.tiles[0] * outputs;
    block /= plan.tiles[0];
    y = block % plan.tiles[1] * outputs;
    block /= plan.tiles[1];
    z = block % plan.chunks * plan.chunk;
    component = block / plan.chunks;
    layers = plan.axes[2].points - z < plan.chunk ? plan.axes[2].points - z : plan.chunk;
  }
};

/// Band p of a control point, its row anywhere, times its neighbours, `stride` apart; only the first `available` are there.
TESSERA_HOST_DEVICE inline double band(const double* row, int p, const double* v, int stride, int available)
{
  double sum = 0;
  TESSERA_UNROLL_ALL
  for (int m = 0; m < neighbours; ++m)
    if (m < available)
      sum = fma(row[p * neighbours + m], v[m * stride], sum);
  return sum;
}

/// Band p of a control point whose row is symmetric and in the plan.
TESSERA_HOST_DEVICE inline double wholeBand(const Axis& axis, int p, const double* v)
{
  double sum = axis.whole[p][0] * v[reach];
  TESSERA_UNROLL_ALL
  for (int m = 1; m <= reach; ++m)
    sum = fma(axis.whole[p][m], v[reach - m] + v[reach + m], sum);
  return sum;
}

TESSERA_HOST_DEVICE inline const double* rowOf(const Axis& axis, int point)
{
  const int held = point < 0 ? 0 : point < axis.points ? point : axis.points - 1;
  return axis.rows + static_cast<std::size_t>(held) * perPoint;
}

TESSERA_HOST_DEVICE inline bool whole(const Axis& axis, int first, int last)
{
  return first >= axis.firstWhole && last <= axis.lastWhole;
}

/// The columns of a thread: coefficients of the layers around the one that the block is at.
struct Columns {
  double around[columnsAThread][neighbours];

  /// Coefficient of column j in a layer; 0 outside of the grid.
  static TESSERA_HOST_DEVICE double coefficient(const Plan& plan, const Tile& tile, const double* coefficients, int thread, int j,
                                                int layer)
  {
    const int x = tile.x - reach + thread % lanes, y = tile.y - reach + thread / lanes + j * warps;
    const int nx = plan.axes[0].points, ny = plan.axes[1].points;
    if (x < 0 || x >= nx || y < 0 || y >= ny || layer < 0 || layer >= plan.axes[2].points)
      return 0;
    return coefficients[tile.component * plan.pointCount() + (static_cast<std::size_t>(layer) * ny + y) * nx + x];
  }
  /// All but the last of the layers around `layer`.
  TESSERA_HOST_DEVICE void begin(const Plan& plan, const Tile& tile, const double* coefficients, int thread, int layer)
  {
    TESSERA_UNROLL_ALL
    for (int j = 0; j < columnsAThread; ++j)
      TESSERA_UNROLL_ALL
    for (int m = 0; m + 1 < neighbours; ++m)
      around[j][m + 1] = coefficient(plan, tile, coefficients, thread, j, layer - reach + m);
  }
  TESSERA_HOST_DEVICE void advance(const double (&next)[columnsAThread])
  {
    TESSERA_UNROLL_ALL
    for (int j = 0; j < columnsAThread; ++j) {
      TESSERA_UNROLL_ALL
      for (int m = 0; m + 1 < neighbours; ++m)
        around[j][m] = around[j][m + 1];
      around[j][neighbours - 1] = next[j];
    }
  }
  TESSERA_HOST_DEVICE void contract(const Axis& axis, int layer, int thread, Shared& shared) const
  {
    if (whole(axis, layer, layer)) {
      TESSERA_UNROLL_ALL
      for (int j = 0; j < columnsAThread; ++j)
        TESSERA_UNROLL_ALL
      for (int p = 0; p < 3; ++p)
        shared.rows[p][thread / lanes + j * warps][thread % lanes] = wholeBand(axis, p, around[j]);
      return;
    }
    const double* row = rowOf(axis, layer);
    TESSERA_UNROLL_NOT
    for (int p = 0; p < 3; ++p)
      TESSERA_UNROLL_ALL
    for (int j = 0; j < columnsAThread; ++j)
      shared.rows[p][thread / lanes + j * warps][thread % lanes] = band(row, p, around[j], 1, neighbours);
  }
};

/// Calls store(o, s0, s1, s2) for o = 0 .. group - 1: the sums of 0 to 2 derivatives at control point first + o from those at its
/// neighbours, `stride` apart from first - reach on, of which there are `available`. Those of fewer than First are not made.
template <int First, class Store>
TESSERA_HOST_DEVICE inline void contractGroup(const Axis& axis, int first, const double* from, int perOrder, int stride,
                                              int available, Store&& store)
{
  if (!whole(axis, first, first + group - 1)) {
    TESSERA_UNROLL_NOT
    for (int o = 0; o < group; ++o) {
      const double* row = rowOf(axis, first + o);
      const double *v0 = from + o * stride, *v1 = v0 + perOrder, *v2 = v1 + perOrder;
      const int count = available - o;
      const double s0 = First > 0 ? 0 : band(row, 0, v0, stride, count);
      const double s1 = First > 1 ? 0 : band(row, 1, v0, stride, count) + band(row, 0, v1, stride, count);
      const double s2 =
          fma(2.0, band(row, 1, v1, stride, count), band(row, 2, v0, stride, count)) + band(row, 0, v2, stride, count);
      store(o, s0, s1, s2);
    }
    return;
  }
  double sums[3][group];
  TESSERA_UNROLL_ALL
  for (int q = 0; q < 3; ++q) {
    double v[group + 2 * reach];
    TESSERA_UNROLL_ALL
    for (int i = 0; i < group + 2 * reach; ++i)
      v[i] = i < available ? from[q * perOrder + i * stride] : 0;
    TESSERA_UNROLL_ALL
    for (int o = 0; o < group; ++o)
      TESSERA_UNROLL_ALL
    for (int p = First > q ? First : q; p < 3; ++p) {
      const double sum = wholeBand(axis, p - q, v + o);
      sums[p][o] = q == 0 ? sum : fma(p == 2 && q == 1 ? 2.0 : 1.0, sum, sums[p][o]);
    }
  }
  TESSERA_UNROLL_ALL
  for (int o = 0; o < group; ++o)
    store(o, First > 0 ? 0 : sums[0][o], First > 1 ? 0 : sums[1][o], sums[2][o]);
}

/// A warp has a group of columns, its lanes rows.
TESSERA_HOST_DEVICE inline void contractAlongX(const Plan& plan, const Tile& tile, Shared& shared, int thread)
{
  const int row = thread % lanes, first = thread / lanes * group;
  if (first >= outputs)
    return;
  contractGroup<0>(plan.axes[0], tile.x + first, &shared.rows[0][row][first], extent * rowPitch, 1, extent - first,
                   [&](int o, double s0, double s1, double s2) {
                     if (first + o >= outputs)
                       return;
                     shared.layer[0][row][first + o] = s0;
                     shared.layer[1][row][first + o] = s1;
                     shared.layer[2][row][first + o] = s2;
                   });
}

/// A warp has a group of rows, its lanes columns. Writes the gradient unless null and returns the thread's part of the value.
TESSERA_HOST_DEVICE inline double contractAlongY(const Plan& plan, const Tile& tile, const Shared& shared, int layer, int thread,
                                                 const double* coefficients, double* gradient)
{
  const int column = thread % lanes, first = thread / lanes * group, x = tile.x + column;
  if (first >= outputs || column >= outputs || x >= plan.axes[0].points)
    return 0;
  double value = 0;
  contractGroup<2>(plan.axes[1], tile.y + first, &shared.layer[0][first][column], extent * layerPitch, layerPitch, extent - first,
                   [&](int o, double, double, double sum) {
                     const int y = tile.y + first + o, nx = plan.axes[0].points, ny = plan.axes[1].points;
                     if (first + o >= outputs || y >= ny)
                       return;
                     const std::size_t at =
                         tile.component * plan.pointCount() + (static_cast<std::size_t>(layer) * ny + y) * nx + x;
                     value = fma(sum, coefficients[at], value);
                     if (gradient != nullptr)
                       gradient[at] = 2 * sum;
                   });
  return value;
}

}
