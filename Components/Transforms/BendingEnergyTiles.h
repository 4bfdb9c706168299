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

#ifndef BEND_ROWS
#define BEND_ROWS 26
#endif
#ifndef BEND_WARPS
#define BEND_WARPS 8
#endif
#ifndef BEND_GROUPX
#define BEND_GROUPX 4
#endif
#ifndef BEND_GROUPY
#define BEND_GROUPY 4
#endif
#ifndef BEND_BLOCKS
#define BEND_BLOCKS 2
#endif
#ifndef BEND_WAVE
#define BEND_WAVE 264
#endif
#ifndef BEND_PIPE
#define BEND_PIPE 0
#endif
#ifndef BEND_ZLAST
#define BEND_ZLAST 0
#endif
constexpr int reach = 3, neighbours = 7, perPoint = 3 * neighbours;
constexpr int outputs = 26, outputRows = BEND_ROWS;                              // control points of a tile
constexpr int extent = outputs + 2 * reach, extentRows = outputRows + 2 * reach; // and those they depend on
constexpr int lanes = 32, warps = BEND_WARPS, threads = lanes * warps;
constexpr int columnsAThread = extentRows / warps;
constexpr int groupX = BEND_GROUPX, groupsX = (outputs + groupX - 1) / groupX; // outputs that one thread makes at once
constexpr int groupY = BEND_GROUPY, groupsY = (outputRows + groupY - 1) / groupY;
constexpr int tasksX = groupsX * extentRows, tasksY = groupsY * outputs;
constexpr int rowPitch = (groupsX * groupX + 2 * reach) | 1, layerPitch = outputs + 1; // odd: no two rows in one memory bank
constexpr int layerRows = groupsY * groupY + 2 * reach;
constexpr int stages = BEND_PIPE ? 2 : 1;
constexpr int firstThreadY = BEND_PIPE && threads >= 2 * 224 ? threads / 2 : 0;
static_assert(extent == lanes && columnsAThread * warps == extentRows);

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

struct alignas(16) Stage {
  double rows[3][extentRows][rowPitch];    // contracted along the march
  double layer[3][layerRows][layerPitch]; // and along the first axis
};

struct Shared {
  Stage stage[stages];
  TileRow x[groupsX * groupX], y[groupsY * groupY];
};

struct Tile {
  int x, y, z, layers, component; // first output

  TESSERA_HOST_DEVICE Tile(const Plan& plan, int block)
  {
    x = block % plan.tiles[0] * outputs;
    block /= plan.tiles[0];
    y = block % plan.tiles[1] * outputRows;
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
  TESSERA_HOST_DEVICE void contract(const Axis& axis, int layer, int thread, Stage& stage) const
  {
    if (whole(axis, layer, layer)) {
      TESSERA_UNROLL_ALL
      for (int j = 0; j < columnsAThread; ++j)
        TESSERA_UNROLL_ALL
      for (int p = 0; p < 3; ++p)
        stage.rows[p][thread / lanes + j * warps][thread % lanes] = wholeBand(axis, p, around[j]);
      return;
    }
    const double* row = rowOf(axis, layer);
    TESSERA_UNROLL_ALL
    for (int p = 0; p < 3; ++p)
      TESSERA_UNROLL_ALL
    for (int j = 0; j < columnsAThread; ++j)
      stage.rows[p][thread / lanes + j * warps][thread % lanes] = band(row + p * neighbours, around[j]);
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

/// Whether the bands of a group are all equal; `count` of the tile's.
TESSERA_HOST_DEVICE inline bool wholeGroup(const Axis& axis, int firstOfTile, int first, int group, int count)
{
  const int end = first + group < count ? first + group : count;
  return whole(axis, firstOfTile + first, firstOfTile + end - 1);
}

/// Neighbouring threads have neighbouring rows.
TESSERA_HOST_DEVICE inline void contractAlongX(const Plan& plan, const Tile& tile, Stage& stage, const Shared& shared, int thread)
{
  for (int task = thread; task < tasksX; task += threads) {
    const int row = task % extentRows, first = task / extentRows * groupX;
    if (tile.x + first >= plan.axes[0].points)
      break;
    double sums[3][groupX];
    contractGroup<0>(plan.axes[0], wholeGroup(plan.axes[0], tile.x, first, groupX, outputs), shared.x + first,
                     &stage.rows[0][row][first], extentRows * rowPitch, 1, sums);
    TESSERA_UNROLL_ALL
    for (int p = 0; p < 3; ++p)
      TESSERA_UNROLL_ALL
    for (int o = 0; o < groupX; ++o)
      if (first + o < outputs)
        stage.layer[p][row][first + o] = sums[p][o];
  }
}

/// Neighbouring threads have neighbouring columns. Writes the gradient unless null and returns the thread's part of the value.
TESSERA_HOST_DEVICE inline double contractAlongY(const Plan& plan, const Tile& tile, const Stage& stage, const Shared& shared,
                                                 int layer, int thread, const double* coefficients, double* gradient)
{
  const int nx = plan.axes[0].points, ny = plan.axes[1].points;
  double value = 0;
  for (int task = thread; task < tasksY; task += threads) {
    const int column = task % outputs, first = task / outputs * groupY, x = tile.x + column;
    if (x >= nx || tile.y + first >= ny)
      continue;
    const int rest = outputRows - first < ny - tile.y - first ? outputRows - first : ny - tile.y - first;
    const std::size_t at = tile.component * plan.pointCount() + (static_cast<std::size_t>(layer) * ny + tile.y + first) * nx + x;
    double own[groupY];
    TESSERA_UNROLL_ALL
    for (int o = 0; o < groupY; ++o)
      own[o] = o < rest ? coefficients[at + static_cast<std::size_t>(o) * nx] : 0;
    double sums[3][groupY];
    contractGroup<2>(plan.axes[1], wholeGroup(plan.axes[1], tile.y, first, groupY, outputRows), shared.y + first,
                     &stage.layer[0][first][column], layerRows * layerPitch, layerPitch, sums);
    TESSERA_UNROLL_ALL
    for (int o = 0; o < groupY; ++o)
      if (o < rest) {
        value = fma(sums[2][o], own[o], value);
        if (gradient != nullptr)
          gradient[at + static_cast<std::size_t>(o) * nx] = 2 * sums[2][o];
      }
  }
  return value;
}

#if BEND_ZLAST
/// The march comes last: sums of the 7 layers around the one that the block is at.
struct Ring {
  double sums[groupY][neighbours];
};

/// c (in rows[0]) contracted along the first axis.
TESSERA_HOST_DEVICE inline void spreadAlongX(const Plan& plan, const Tile& tile, Stage& stage, const Shared& shared, int thread)
{
  for (int task = thread; task < tasksX; task += threads) {
    const int row = task % extentRows, first = task / extentRows * groupX;
    if (tile.x + first >= plan.axes[0].points)
      break;
    double v[groupX + 2 * reach];
    TESSERA_UNROLL_ALL
    for (int i = 0; i < groupX + 2 * reach; ++i)
      v[i] = stage.rows[0][row][first + i];
    if (wholeGroup(plan.axes[0], tile.x, first, groupX, outputs)) {
      TESSERA_UNROLL_ALL
      for (int o = 0; o < groupX; ++o)
        TESSERA_UNROLL_ALL
      for (int p = 0; p < 3; ++p)
        if (first + o < outputs)
          stage.layer[p][row][first + o] = wholeBand(plan.axes[0], p, v + o);
    } else {
      TESSERA_UNROLL_ALL
      for (int o = 0; o < groupX; ++o)
        TESSERA_UNROLL_ALL
      for (int p = 0; p < 3; ++p)
        if (first + o < outputs)
          stage.layer[p][row][first + o] = band(shared.x[first + o].of[p], v + o);
    }
  }
}

/// Adds layer `layer` to those around it (if it is one of the grid's), and ends layer - reach.
TESSERA_HOST_DEVICE inline double spreadAlongYAndMarch(const Plan& plan, const Tile& tile, const Stage& stage, const Shared& shared,
                                                       int layer, int thread, Ring& ring, const double* coefficients,
                                                       double* gradient)
{
  static_assert(tasksY <= threads);
  const int nx = plan.axes[0].points, ny = plan.axes[1].points;
  const int column = thread % outputs, first = thread / outputs * groupY, x = tile.x + column, done = layer - reach;
  if (thread >= tasksY || x >= nx || tile.y + first >= ny)
    return 0;
  const int rest = outputRows - first < ny - tile.y - first ? outputRows - first : ny - tile.y - first;
  const bool ends = done >= tile.z;
  const std::size_t at = tile.component * plan.pointCount() + (static_cast<std::size_t>(ends ? done : 0) * ny + tile.y + first) * nx + x;
  double own[groupY];
  TESSERA_UNROLL_ALL
  for (int o = 0; o < groupY; ++o)
    own[o] = ends && o < rest ? coefficients[at + static_cast<std::size_t>(o) * nx] : 0;
  if (layer < plan.axes[2].points) {
    double sums[3][groupY];
    contractGroup<0>(plan.axes[1], wholeGroup(plan.axes[1], tile.y, first, groupY, outputRows), shared.y + first,
                     &stage.layer[0][first][column], layerRows * layerPitch, layerPitch, sums);
    if (whole(plan.axes[2], layer, layer)) {
      const auto& w = plan.axes[2].whole;
      TESSERA_UNROLL_ALL
      for (int o = 0; o < groupY; ++o)
        TESSERA_UNROLL_ALL
      for (int m = 0; m <= reach; ++m) {
        const double term = fma(2 * w[1][m], sums[1][o], fma(w[0][m], sums[2][o], w[2][m] * sums[0][o]));
        ring.sums[o][reach + m] += term;
        if (m > 0)
          ring.sums[o][reach - m] += term;
      }
    } else {
      const double* row = rowOf(plan.axes[2], layer);
      TESSERA_UNROLL_ALL
      for (int k = 0; k < neighbours; ++k) {
        const double w0 = row[k], w1 = 2 * row[neighbours + k], w2 = row[2 * neighbours + k];
        TESSERA_UNROLL_ALL
        for (int o = 0; o < groupY; ++o)
          ring.sums[o][k] += fma(w1, sums[1][o], fma(w0, sums[2][o], w2 * sums[0][o]));
      }
    }
  }
  double value = 0;
  TESSERA_UNROLL_ALL
  for (int o = 0; o < groupY; ++o) {
    if (ends && o < rest) {
      value = fma(ring.sums[o][0], own[o], value);
      if (gradient != nullptr)
        gradient[at + static_cast<std::size_t>(o) * nx] = 2 * ring.sums[o][0];
    }
    TESSERA_UNROLL_ALL
    for (int k = 0; k + 1 < neighbours; ++k)
      ring.sums[o][k] = ring.sums[o][k + 1];
    ring.sums[o][neighbours - 1] = 0;
  }
  return value;
}
#endif

}
