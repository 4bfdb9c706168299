#pragma once

#include "Core/Compute/FieldAxis.h"

#include <cmath>
#include <cstddef>

// Loops over what must stay in registers, and short ones whose loads are to be under way together.
#ifdef __CUDA_ARCH__
#define TESSERA_UNROLL_ALL _Pragma("unroll")
#define TESSERA_UNROLL_FOUR _Pragma("unroll 4")
#else
#define TESSERA_UNROLL_ALL
#define TESSERA_UNROLL_FOUR
#endif

// The adjoint of an aligned field, tile by tile, as host-device code: what the threads of a block do between its barriers.
//
// A block owns `columns` x `rows` columns of voxels and a chunk of the last axis, along which it marches: each thread reads its
// column once, sums it onto a ring of order + 1 control points in registers, and stages a sum when its control point is done. Every
// few staged layers the block contracts them along the first axis, then along the second, and writes the tile's own partial
// control points. A second kernel adds the partial ones of the tiles that share a control point, in their order.
namespace tessera::adjoint {

constexpr int columns = 32;  // of a tile, along the first axis
constexpr int mostRows = 16; // along the second
constexpr int batch = 3;     // voxels of a column under way at once
constexpr int slots = 4;     // staged layers
constexpr int mostTaps = 4;
constexpr int mostChunk = 512;     // voxels of a chunk
constexpr int pitch = columns + 1; // of a staged row: no two rows in one memory bank

/// A sum of products. `Value` is what it adds, and what is kept of it between the axes.
struct FusedSum {
  using Value = float;
  float sum = 0;
  TESSERA_HOST_DEVICE void add(float weight, float value) { sum = fmaf(weight, value, sum); }
  TESSERA_HOST_DEVICE float total() const { return sum; }
};

struct KahanSum {
  using Value = float;
  float sum = 0, excess = 0;
  TESSERA_HOST_DEVICE void add(float weight, float value)
  {
    const float term = fmaf(weight, value, -excess);
    const float next = sum + term;
    excess = (next - sum) - term;
    sum = next;
  }
  TESSERA_HOST_DEVICE float total() const { return sum; }
};

struct PichatSum {
  using Value = float;
  float sum = 0, missing = 0;
  TESSERA_HOST_DEVICE void add(float weight, float value)
  {
    const float before = sum;
    sum = fmaf(weight, value, sum);
    missing += fmaf(weight, value, before - sum);
  }
  TESSERA_HOST_DEVICE float total() const { return sum + missing; }
};

struct DoubleSum {
  using Value = double;
  double sum = 0;
  TESSERA_HOST_DEVICE void add(double weight, double value) { sum = fma(weight, value, sum); }
  TESSERA_HOST_DEVICE double total() const { return sum; }
};

/// An axis in tiles of `length` voxels. In 2D the second is an axis of one voxel and one control point, order 0.
struct Axis {
  FieldAxis field;
  int order = 0;
  int length = 1, tiles = 1;
  int mostPoints = 1; // control points that carry the voxels of a tile, at most

  TESSERA_HOST_DEVICE int voxelsOf(int tile) const
  {
    const int rest = field.voxels - tile * length;
    return rest < length ? rest : length;
  }
};

/// Weights of order + 1 control points; the rest are zeros.
template <class Real>
TESSERA_HOST_DEVICE inline void weightsOf(int order, const AxisSupport& support, Real (&weights)[mostTaps])
{
  for (Real& weight : weights)
    weight = 0;
  if (order == 3)
    axisWeights<3, Real>(support, weights);
  else if (order == 2)
    axisWeights<2, Real>(support, weights);
  else if (order == 1)
    axisWeights<1, Real>(support, weights);
  else
    axisWeights<0, Real>(support, weights);
}

/// How the work is cut: axes[2] is the one to march along.
struct Plan {
  Axis axes[3];
  int most;     // sums that get done in a batch, at most
  int rowPitch; // of a layer that is contracted along the first axis
  int table;    // voxels of a chunk with those that stand for its end, in whole batches

  TESSERA_HOST_DEVICE int tileCount() const { return axes[0].tiles * axes[1].tiles * axes[2].tiles; }
  TESSERA_HOST_DEVICE int layerPoints() const { return axes[0].mostPoints * axes[1].mostPoints; }
  TESSERA_HOST_DEVICE std::size_t componentStride() const { return static_cast<std::size_t>(layerPoints()) * axes[2].mostPoints; }
};

/// Which control points a tile carries along each axis: first[i], last[i]; the tiles of the three axes one after the other.
struct Ranges {
  int* first;
  int* last;
};

template <class Value>
struct alignas(mostTaps * sizeof(Value)) Taps {
  Value w[mostTaps];
};

/// Weights of a tile by control point, and where the voxels of a cell (which share their control points) begin.
template <class Value>
struct Table {
  Value* weights; // [control point][voxel]
  int* begins;    // [cell], and the end of the last
  int pitch;      // of a control point
};

/// The memory that a block shares.
template <int D, class Value>
struct Shared {
  Taps<Value>* taps; // [plan.table], along the march
  Value* staged;     // [component][slot][row][pitch]
  Value* layers;     // [component][slot][row][plan.rowPitch]
  Table<Value> x, y;
  int* advance; // [plan.table]: control points that are done after a voxel

  static TESSERA_HOST_DEVICE std::size_t bytes(const Plan& plan)
  {
    const int rows = plan.axes[1].length;
    const std::size_t values =
        D * slots * rows * (pitch + plan.rowPitch) + plan.axes[0].mostPoints * columns + plan.axes[1].mostPoints * rows;
    return plan.table * (sizeof(Taps<Value>) + sizeof(int)) + values * sizeof(Value) + (columns + 2 + rows + 2) * sizeof(int);
  }

  /// `memory` of that many bytes, a multiple of 32 its address.
  TESSERA_HOST_DEVICE Shared(const Plan& plan, void* memory)
  {
    const int rows = plan.axes[1].length;
    taps = static_cast<Taps<Value>*>(memory);
    staged = reinterpret_cast<Value*>(taps + plan.table);
    layers = staged + D * slots * rows * pitch;
    x = {layers + D * slots * rows * plan.rowPitch, nullptr, columns};
    y = {x.weights + plan.axes[0].mostPoints * columns, nullptr, rows};
    advance = reinterpret_cast<int*>(y.weights + plan.axes[1].mostPoints * rows);
    x.begins = advance + plan.table;
    y.begins = x.begins + columns + 2;
  }
};

/// What a thread knows of its block.
struct Tile {
  int index, at[3];     // which of all, and along each axis
  int voxel[3], has[3]; // first voxel, and voxels
  int point[3];         // first control point
  int cells[3];         // voxels with the same control points make a cell

  TESSERA_HOST_DEVICE Tile(const Plan& plan, int tile) : index(tile)
  {
    at[0] = tile % plan.axes[0].tiles;
    at[1] = tile / plan.axes[0].tiles % plan.axes[1].tiles;
    at[2] = tile / plan.axes[0].tiles / plan.axes[1].tiles;
    for (int d = 0; d < 3; ++d) {
      const Axis& axis = plan.axes[d];
      voxel[d] = at[d] * axis.length;
      has[d] = axis.voxelsOf(at[d]);
      point[d] = supportOf(axis.field, voxel[d], axis.order).start;
      cells[d] = supportOf(axis.field, voxel[d] + has[d] - 1, axis.order).start - point[d] + 1;
    }
  }
  TESSERA_HOST_DEVICE int points(const Plan& plan, int d) const { return cells[d] + plan.axes[d].order; }
  /// Voxels of the march, and those without a value that push the last sums out.
  TESSERA_HOST_DEVICE int steps(const Plan& plan) const { return has[2] + plan.axes[2].order + 1; }
};

/// Part of `thread` among `threads` in the weights of the first or second axis.
template <class Value>
TESSERA_HOST_DEVICE inline void fillTable(const Axis& axis, int firstVoxel, int voxels, int firstPoint, int cells,
                                          const Table<Value>& table, int thread, int threads)
{
  for (int v = thread; v < voxels; v += threads) {
    const AxisSupport support = supportOf(axis.field, firstVoxel + v, axis.order);
    Value weights[mostTaps];
    weightsOf(axis.order, support, weights);
    const int cell = support.start - firstPoint;
    for (int t = 0; t <= axis.order; ++t)
      table.weights[(cell + t) * table.pitch + v] = weights[t];
    const int cellBefore = v == 0 ? -1 : supportOf(axis.field, firstVoxel + v - 1, axis.order).start - firstPoint;
    for (int c = cellBefore + 1; c <= cell; ++c)
      table.begins[c] = v;
  }
  if (thread == 0)
    table.begins[cells] = voxels;
}

/// Part of a thread in all tables; the tiles on the field's faces also tell their ranges.
template <int D, class Value>
TESSERA_HOST_DEVICE inline void fillTables(const Plan& plan, const Tile& tile, const Shared<D, Value>& shared, const Ranges& ranges,
                                           int thread, int threads)
{
  fillTable(plan.axes[0], tile.voxel[0], tile.has[0], tile.point[0], tile.cells[0], shared.x, thread, threads);
  fillTable(plan.axes[1], tile.voxel[1], tile.has[1], tile.point[1], tile.cells[1], shared.y, thread, threads);
  const Axis& march = plan.axes[2];
  for (int z = thread; z < plan.table; z += threads) {
    Taps<Value> taps{};
    int advance = 0;
    if (z < tile.has[2]) {
      const AxisSupport support = supportOf(march.field, tile.voxel[2] + z, march.order);
      weightsOf(march.order, support, taps.w);
      if (z + 1 < tile.has[2])
        advance = supportOf(march.field, tile.voxel[2] + z + 1, march.order).start - support.start;
    } else if (z < tile.steps(plan)) {
      advance = 1;
    }
    shared.taps[z] = taps;
    shared.advance[z] = advance;
  }
  if (thread == 0)
    for (int d = 0, firstOfAxis = 0; d < 3; firstOfAxis += plan.axes[d++].tiles)
      if (tile.at[(d + 1) % 3] == 0 && tile.at[(d + 2) % 3] == 0) {
        ranges.first[firstOfAxis + tile.at[d]] = tile.point[d];
        ranges.last[firstOfAxis + tile.at[d]] = tile.point[d] + tile.points(plan, d) - 1;
      }
}

/// Sums of one column of voxels.
template <int D, class Sum>
struct Column {
  Sum sums[D][mostTaps];

  /// Adds voxels z .. z + batch - 1 of the march, stages what is done at `to` (slot * slotStride + c * componentStride further
  /// for component c) and returns how many slots are then in use.
  TESSERA_HOST_DEVICE int take(const float (&values)[batch][D], int z, const Shared<D, typename Sum::Value>& shared, int used,
                               typename Sum::Value* to, int slotStride)
  {
    TESSERA_UNROLL_ALL
    for (int u = 0; u < batch; ++u) {
      const Taps<typename Sum::Value> taps = shared.taps[z + u];
      TESSERA_UNROLL_ALL
      for (int c = 0; c < D; ++c)
        TESSERA_UNROLL_ALL
      for (int t = 0; t < mostTaps; ++t)
        sums[c][t].add(taps.w[t], values[u][c]);
      for (int done = shared.advance[z + u]; done > 0; --done, ++used)
        TESSERA_UNROLL_ALL
      for (int c = 0; c < D; ++c) {
        to[(c * slots + used) * slotStride] = sums[c][0].total();
        TESSERA_UNROLL_ALL
        for (int t = 0; t + 1 < mostTaps; ++t)
          sums[c][t] = sums[c][t + 1];
        sums[c][mostTaps - 1] = Sum();
      }
    }
    return used;
  }
};

/// Whether the staged layers have to go before the batch that begins with voxel z: it may make more than there is room for.
TESSERA_HOST_DEVICE inline bool mustContract(const Plan& plan, const Tile& tile, int z, int used)
{
  const bool nearEnd = z + batch > tile.has[2];
  return used + (nearEnd ? slots : plan.most) > slots;
}

/// Sum over the voxels that control point k of a tile carries, `stride` apart.
template <class Sum>
TESSERA_HOST_DEVICE inline typename Sum::Value contracted(const Table<typename Sum::Value>& table, int order, int cells, int k,
                                                          const typename Sum::Value* values, int stride)
{
  const int first = table.begins[k > order ? k - order : 0], last = table.begins[(k < cells ? k : cells - 1) + 1];
  const typename Sum::Value* weights = table.weights + k * table.pitch;
  Sum sum;
  TESSERA_UNROLL_FOUR
  for (int v = first; v < last; ++v)
    sum.add(weights[v], values[v * stride]);
  return sum.total();
}

/// Contracts `used` staged layers along the first axis. A warp takes a control point, its lanes rows.
template <int D, class Sum>
TESSERA_HOST_DEVICE inline void contractAlongX(const Plan& plan, const Tile& tile, const Shared<D, typename Sum::Value>& shared,
                                               int used, int thread, int threads)
{
  constexpr int lanes = 32;
  const int height = plan.axes[1].length, points = tile.points(plan, 0);
  const int rows = used * height, groups = (rows + lanes - 1) / lanes;
  const int warps = threads < lanes ? 1 : threads / lanes;
  for (int task = thread / lanes; task < points * D * groups; task += warps) {
    const int k = task % points, c = task / points % D, row = task / points / D * lanes + thread % lanes;
    if (row >= rows)
      continue;
    const int at = c * slots * height + row;
    shared.layers[at * plan.rowPitch + k] =
        contracted<Sum>(shared.x, plan.axes[0].order, tile.cells[0], k, shared.staged + at * pitch, 1);
  }
}

/// And those along the second, into the tile's partial control points from layer `layer` on.
template <int D, class Sum>
TESSERA_HOST_DEVICE inline void contractAlongY(const Plan& plan, const Tile& tile, const Shared<D, typename Sum::Value>& shared,
                                               int layer, int used, typename Sum::Value* partial, int thread, int threads)
{
  const int height = plan.axes[1].length, width = tile.points(plan, 0), lines = tile.points(plan, 1);
  for (int task = thread; task < D * used * lines * width; task += threads) {
    const int i = task % width, rest = task / width, j = rest % lines, slot = rest / lines % used, c = rest / lines / used;
    const typename Sum::Value* values = shared.layers + (c * slots + slot) * height * plan.rowPitch + i;
    partial[(tile.index * static_cast<std::size_t>(D) + c) * plan.componentStride()
            + static_cast<std::size_t>(layer + slot) * plan.layerPoints() + j * plan.axes[0].mostPoints + i] =
        contracted<Sum>(shared.y, plan.axes[1].order, tile.cells[1], j, values, plan.rowPitch);
  }
}

/// Tiles of an axis that carry control point k: [first, first + count).
struct TileSpan {
  int first, count;
};

TESSERA_HOST_DEVICE inline TileSpan tilesOf(const int* firsts, const int* lasts, int tiles, int k)
{
  int low = 0, high = tiles; // the first whose last point is at least k
  while (low < high) {
    const int middle = (low + high) / 2;
    if (lasts[middle] < k)
      low = middle + 1;
    else
      high = middle;
  }
  int end = low;
  while (end < tiles && firsts[end] <= k)
    ++end;
  return {low, end - low};
}

/// Part of `lane` among `lanes` in the sum of the tiles' partial values at a control point, in the tiles' order.
template <int D, class Value>
TESSERA_HOST_DEVICE inline void sumTiles(const Plan& plan, const Ranges& ranges, const Value* partial, const int (&point)[3],
                                         int lane, int lanes, double (&sum)[D])
{
  TileSpan spans[3];
  const int* firsts[3];
  for (int d = 0, firstOfAxis = 0; d < 3; firstOfAxis += plan.axes[d++].tiles) {
    firsts[d] = ranges.first + firstOfAxis;
    spans[d] = tilesOf(firsts[d], ranges.last + firstOfAxis, plan.axes[d].tiles, point[d]);
  }
  for (double& s : sum)
    s = 0;
  const int count = spans[0].count * spans[1].count * spans[2].count;
  for (int i = lane; i < count; i += lanes) {
    const int x = spans[0].first + i % spans[0].count, rest = i / spans[0].count;
    const int y = spans[1].first + rest % spans[1].count, z = spans[2].first + rest / spans[1].count;
    const std::size_t tile = (static_cast<std::size_t>(z) * plan.axes[1].tiles + y) * plan.axes[0].tiles + x;
    const Value* from = partial + tile * D * plan.componentStride()
                        + static_cast<std::size_t>(point[2] - firsts[2][z]) * plan.layerPoints()
                        + (point[1] - firsts[1][y]) * plan.axes[0].mostPoints + (point[0] - firsts[0][x]);
    for (int c = 0; c < D; ++c)
      sum[c] += from[c * plan.componentStride()];
  }
}

}
