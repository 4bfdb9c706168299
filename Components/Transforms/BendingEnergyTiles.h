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
//
// Measured on an H200: the contractions in double precision along the first two axes cost most. Smaller and larger blocks, groups
// of 2 and 7, and the march as the last step are slower; a pipeline of layers gains a tenth for 100 KB of shared memory a block,
// which older devices have not (dox/Decisions/0013).
namespace tessera::bending {

constexpr int reach = 3, neighbours = 7, perPoint = 3 * neighbours;
constexpr int outputs = 26;                 // control points of a tile, along the first two axes
constexpr int extent = outputs + 2 * reach; // and those they depend on
constexpr int lanes = 32, warps = 8, threads = lanes * warps;
constexpr int blocksAMultiprocessor = 2;
constexpr int columnsAThread = extent / warps;
constexpr int group = 4, groups = (outputs + group - 1) / group;                     // outputs that one thread makes at once
constexpr int rowPitch = (groups * group + 2 * reach) | 1, layerPitch = outputs + 1; // odd: no two rows in one memory bank
constexpr int layerRows = groups * group + 2 * reach;
static_assert(extent == lanes && columnsAThread * warps == extent);

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

/// Bands of a control point of the tile: [derivative][neighbour], and one to fill.
struct alignas(16) TileRow {
  double of[3][neighbours + 1];
};

struct Shared {
  double rows[3][extent][rowPitch];       // contracted along the march
  double layer[3][layerRows][layerPitch]; // and along the first axis
  TileRow x[groups * group], y[groups * group];
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

TESSERA_HOST_DEVICE inline double band(const double* row, const double* v)
{
  double sum = row[0] * v[0];
  TESSERA_UNROLL_ALL
  for (int m = 1; m < neighbours; ++m)
    sum = fma(row[m], v[m], sum);
  return sum;
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
    TESSERA_UNROLL_ALL
    for (int p = 0; p < 3; ++p)
      TESSERA_UNROLL_ALL
    for (int j = 0; j < columnsAThread; ++j)
      shared.rows[p][thread / lanes + j * warps][thread % lanes] = band(row + p * neighbours, around[j]);
  }
};

/// Part of a thread in the tile's bands.
TESSERA_HOST_DEVICE inline void fillRows(const Axis& axis, int first, TileRow* to, int count, int thread)
{
  for (int i = thread; i < count * 3 * (neighbours + 1); i += threads) {
    const int m = i % (neighbours + 1), p = i / (neighbours + 1) % 3, o = i / (neighbours + 1) / 3;
    to[o].of[p][m] = m < neighbours ? rowOf(axis, first + o)[p * neighbours + m] : 0;
  }
}

/// sums[p][o]: the sums of p = First .. 2 derivatives at control point o of a group, from those at its neighbours, `stride` apart.
template <int First, int Group>
TESSERA_HOST_DEVICE inline void contractGroup(const Axis& axis, bool whole, const TileRow* rows, const double* from, int perOrder,
                                              int stride, double (&sums)[3][Group])
{
  TESSERA_UNROLL_ALL
  for (int q = 0; q < 3; ++q) {
    double v[Group + 2 * reach];
    TESSERA_UNROLL_ALL
    for (int i = 0; i < Group + 2 * reach; ++i)
      v[i] = from[q * perOrder + i * stride];
    if (whole) {
      TESSERA_UNROLL_ALL
      for (int o = 0; o < Group; ++o)
        TESSERA_UNROLL_ALL
      for (int p = First > q ? First : q; p < 3; ++p) {
        const double sum = wholeBand(axis, p - q, v + o);
        sums[p][o] = q == 0 ? sum : fma(p == 2 && q == 1 ? 2.0 : 1.0, sum, sums[p][o]);
      }
    } else {
      TESSERA_UNROLL_ALL
      for (int o = 0; o < Group; ++o)
        TESSERA_UNROLL_ALL
      for (int p = First > q ? First : q; p < 3; ++p) {
        const double sum = band(rows[o].of[p - q], v + o);
        sums[p][o] = q == 0 ? sum : fma(p == 2 && q == 1 ? 2.0 : 1.0, sum, sums[p][o]);
      }
    }
  }
}

/// Whether the bands of a group are all equal.
TESSERA_HOST_DEVICE inline bool wholeGroup(const Axis& axis, int firstOfTile, int first)
{
  const int end = first + group < outputs ? first + group : outputs;
  return whole(axis, firstOfTile + first, firstOfTile + end - 1);
}

/// Neighbouring threads have neighbouring rows.
TESSERA_HOST_DEVICE inline void contractAlongX(const Plan& plan, const Tile& tile, Shared& shared, int thread)
{
  for (int task = thread; task < groups * extent; task += threads) {
    const int row = task % extent, first = task / extent * group;
    if (tile.x + first >= plan.axes[0].points)
      break;
    double sums[3][group];
    contractGroup<0>(plan.axes[0], wholeGroup(plan.axes[0], tile.x, first), shared.x + first, &shared.rows[0][row][first],
                     extent * rowPitch, 1, sums);
    TESSERA_UNROLL_ALL
    for (int p = 0; p < 3; ++p)
      TESSERA_UNROLL_ALL
    for (int o = 0; o < group; ++o)
      if (first + o < outputs)
        shared.layer[p][row][first + o] = sums[p][o];
  }
}

/// Neighbouring threads have neighbouring columns. Writes the gradient unless null and returns the thread's part of the value.
TESSERA_HOST_DEVICE inline double contractAlongY(const Plan& plan, const Tile& tile, const Shared& shared, int layer, int thread,
                                                 const double* coefficients, double* gradient)
{
  const int nx = plan.axes[0].points, ny = plan.axes[1].points;
  double value = 0;
  for (int task = thread; task < groups * outputs; task += threads) {
    const int column = task % outputs, first = task / outputs * group, x = tile.x + column;
    if (x >= nx || tile.y + first >= ny)
      continue;
    const int rest = outputs - first < ny - tile.y - first ? outputs - first : ny - tile.y - first;
    const std::size_t at = tile.component * plan.pointCount() + (static_cast<std::size_t>(layer) * ny + tile.y + first) * nx + x;
    double own[group];
    TESSERA_UNROLL_ALL
    for (int o = 0; o < group; ++o)
      own[o] = o < rest ? coefficients[at + static_cast<std::size_t>(o) * nx] : 0;
    double sums[3][group];
    contractGroup<2>(plan.axes[1], wholeGroup(plan.axes[1], tile.y, first), shared.y + first, &shared.layer[0][first][column],
                     layerRows * layerPitch, layerPitch, sums);
    TESSERA_UNROLL_ALL
    for (int o = 0; o < group; ++o)
      if (o < rest) {
        value = fma(sums[2][o], own[o], value);
        if (gradient != nullptr)
          gradient[at + static_cast<std::size_t>(o) * nx] = 2 * sums[2][o];
      }
  }
  return value;
}

}
