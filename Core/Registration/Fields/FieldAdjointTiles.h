#pragma once

#include "Core/Compute/Math/FieldAxis.h"
#include "Core/Registration/Fields/FieldAdjointSums.h"

#include <cstddef>

// The first loops only touch registers; in the second ones, a few loads must be under way together.
#ifdef __CUDA_ARCH__
#define TESSERA_UNROLL_ALL _Pragma("unroll")
#define TESSERA_UNROLL_AHEAD _Pragma("unroll Ahead")
#define TESSERA_UNROLL_NOT _Pragma("unroll 1")
#else
#define TESSERA_UNROLL_NOT
#define TESSERA_UNROLL_ALL
#define TESSERA_UNROLL_AHEAD
#endif

// The adjoint of an aligned field, tile by tile: the steps of a block's threads between its barriers, as code
// for host and device. For each component,
//
//   gradient(k) = sum over voxels v of w_x(v, k) w_y(v, k) w_z(v, k) covector(v)
//
// is computed axis by axis:
//
//   1. Columns         a(x, y, k_z)     = sum_z w_z(z, k_z) covector(x, y, z)   in registers
//   2. contractAlongX  b(k_x, y, k_z)   = sum_x w_x(x, k_x) a(x, y, k_z)        in shared memory
//   3. contractAlongY  c(k_x, k_y, k_z) = sum_y w_y(y, k_y) b(k_x, y, k_z)      the tile's partial sums
//   4. sumTiles        gradient(k)      = sum over tiles of c(k)                in the order of the tiles
//
// A block has a tile of `columns` x `rows` columns of voxels and a chunk of the last axis, along which it
// marches. Each thread reads its columns once and adds them to the order + 1 control points that are open.
// When a control point has received all its voxels, its sum is staged in shared memory. Every few staged
// slices the block does steps 2 and 3. A second kernel does step 4.
namespace tessera::adjoint {

constexpr int batch = 3; // voxels of a column that are loaded together, into registers
constexpr int slots = 4; // room for so many staged slices
constexpr int maxTaps = 4;
constexpr int maxChunk = 512;      // largest number of voxels in a chunk
constexpr int pitch = columns + 1; // pitch of a staged row, odd so that rows begin in different memory banks
static_assert(batch <= slots);

/// One axis, cut into tiles of `length` voxels. In 2D the second axis has one voxel, one control point and
/// order 0.
struct Axis {
  FieldAxis field;
  int order = 0;
  int length = 1, tiles = 1;
  int maxPoints = 1; // the most control points that a tile has in its supports
  double tilesAPoint = 1;

  TESSERA_HOST_DEVICE int voxelsOf(int tile) const
  {
    const int rest = field.voxels - tile * length;
    return rest < length ? rest : length;
  }
};

/// Weights of the order + 1 control points of a voxel; the rest of `weights` becomes zero.
template <class Real>
TESSERA_HOST_DEVICE inline void weightsOf(int order, const AxisSupport& support, Real (&weights)[maxTaps])
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

/// How the work is cut. Blocks march along axes[2].
struct Plan {
  Axis axes[3];
  int threadRows; // rows of threads in a block
  int maxDone;    // the most control points of a column that a batch completes
  int rowPitch;   // pitch of a row that is contracted along the first axis
  /// Length of the table of weights along the march: a chunk and the steps after it, in whole batches.
  int table;

  TESSERA_HOST_DEVICE int tileCount() const { return axes[0].tiles * axes[1].tiles * axes[2].tiles; }
  TESSERA_HOST_DEVICE int slicePoints() const { return axes[0].maxPoints * axes[1].maxPoints; }
  TESSERA_HOST_DEVICE std::size_t componentStride() const
  {
    return static_cast<std::size_t>(slicePoints()) * axes[2].maxPoints;
  }
};

template <class Value>
struct alignas(maxTaps * sizeof(Value)) Taps {
  Value w[maxTaps];
};

/// Weights of a tile's voxels along an axis, and how many control points each voxel completes.
template <class Value>
struct Table {
  Taps<Value>* taps;
  int* advance;
};

/// The layout of a block's shared memory.
template <int D, class Value>
struct Shared {
  Table<Value> axes[3];
  Value* staged; // [component][slot][row][pitch]
  Value* slices; // [component][slot][row][plan.rowPitch]

  static TESSERA_HOST_DEVICE int tableLength(const Plan& plan)
  {
    return columns + plan.axes[1].length + plan.table;
  }
  static TESSERA_HOST_DEVICE std::size_t bytes(const Plan& plan)
  {
    const int rows = plan.axes[1].length;
    return tableLength(plan) * (sizeof(Taps<Value>) + sizeof(int))
           + D * slots * rows * (pitch + plan.rowPitch) * sizeof(Value);
  }

  /// `memory` has `bytes(plan)` bytes and is aligned to 32.
  TESSERA_HOST_DEVICE Shared(const Plan& plan, void* memory)
  {
    const int rows = plan.axes[1].length;
    Taps<Value>* taps = static_cast<Taps<Value>*>(memory);
    staged = reinterpret_cast<Value*>(taps + tableLength(plan));
    slices = staged + D * slots * rows * pitch;
    int* advance = reinterpret_cast<int*>(slices + D * slots * rows * plan.rowPitch);
    const int lengths[3] = {columns, rows, plan.table};
    for (int d = 0; d < 3; ++d) {
      axes[d] = {taps, advance};
      taps += lengths[d];
      advance += lengths[d];
    }
  }
};

/// The tile of a block; each thread computes it for itself.
struct Tile {
  int index, at[3];     // the tile's number, and its place along each axis
  int voxel[3], has[3]; // first voxel, and number of voxels
  int point[3];         // first control point
  int cells[3];         // cells of the grid; a cell's voxels have the same control points

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
  /// Steps of the march: the voxels, and order + 1 steps without a value that complete the last control
  /// points.
  TESSERA_HOST_DEVICE int steps(const Plan& plan) const { return has[2] + plan.axes[2].order + 1; }
};

/// One thread's part of filling a table of `length` steps. The steps after the tile's voxels have zero
/// weights and complete the last control points.
template <class Value>
TESSERA_HOST_DEVICE inline void fillTable(const Axis& axis, int firstVoxel, int voxels, int length,
                                          const Table<Value>& table, int thread, int threads)
{
  for (int v = thread; v < length; v += threads) {
    Taps<Value> taps{};
    int advance = v <= voxels + axis.order ? 1 : 0;
    if (v < voxels) {
      const AxisSupport support = supportOf(axis.field, firstVoxel + v, axis.order);
      weightsOf(axis.order, support, taps.w);
      advance =
          v + 1 < voxels ? supportOf(axis.field, firstVoxel + v + 1, axis.order).start - support.start : 0;
    }
    table.taps[v] = taps;
    table.advance[v] = advance;
  }
}

/// One thread's part of filling all tables.
template <int D, class Value>
TESSERA_HOST_DEVICE inline void fillTables(const Plan& plan, const Tile& tile, const Shared<D, Value>& shared,
                                           int thread, int threads)
{
  fillTable(plan.axes[0], tile.voxel[0], tile.has[0], columns, shared.axes[0], thread, threads);
  fillTable(plan.axes[1], tile.voxel[1], tile.has[1], plan.axes[1].length, shared.axes[1],
            (thread + threads / 2) % threads, threads);
  fillTable(plan.axes[2], tile.voxel[2], tile.has[2], plan.table, shared.axes[2], threads - 1 - thread,
            threads);
}

/// The sums of a thread's columns of voxels at the control points that are not complete yet.
template <int D, class Sum>
struct Columns {
  static constexpr int per = Sum::shape.columnsAThread;
  Sum sums[per][D][maxTaps];

  /// Adds voxels z .. z + batch - 1 of the march and stages the sums that these complete. Slot s of component
  /// c and column i lies at to[(c * slots + s) * slotStride + i * columnStride]. Returns how many slots are
  /// then in use.
  TESSERA_HOST_DEVICE int take(const float (&values)[batch][per][D], int z,
                               const Table<typename Sum::Value>& table, int used, typename Sum::Value* to,
                               int slotStride, int columnStride)
  {
    TESSERA_UNROLL_ALL
    for (int u = 0; u < batch; ++u) {
      const Taps<typename Sum::Value> taps = table.taps[z + u];
      TESSERA_UNROLL_ALL
      for (int i = 0; i < per; ++i)
        TESSERA_UNROLL_ALL
      for (int c = 0; c < D; ++c)
        TESSERA_UNROLL_ALL
      for (int t = 0; t < maxTaps; ++t)
        sums[i][c][t].add(taps.w[t], values[u][i][c]);
      TESSERA_UNROLL_NOT
      for (int done = table.advance[z + u]; done > 0; --done, ++used)
        TESSERA_UNROLL_ALL
      for (int i = 0; i < per; ++i)
        TESSERA_UNROLL_ALL
      for (int c = 0; c < D; ++c) {
        to[(c * slots + used) * slotStride + i * columnStride] = sums[i][c][0].total();
        TESSERA_UNROLL_ALL
        for (int t = 0; t + 1 < maxTaps; ++t)
          sums[i][c][t] = sums[i][c][t + 1];
        sums[i][c][maxTaps - 1] = Sum();
      }
    }
    return used;
  }
};

/// Whether the staged slices must be contracted before the batch that begins with voxel z, because that batch
/// may complete more slices than there are free slots.
TESSERA_HOST_DEVICE inline bool mustContract(const Plan& plan, const Tile& tile, int z, int used)
{
  const bool nearEnd = z + batch > tile.has[2];
  return used + (nearEnd ? slots : plan.maxDone) > slots;
}

/// Contracts a line of `count` values, `stride` apart, to its control points, `toStride` apart. `Ahead`
/// values are loaded at once.
template <class Sum, int Ahead>
TESSERA_HOST_DEVICE inline void contractLine(const Table<typename Sum::Value>& table, int order, int count,
                                             const typename Sum::Value* values, int stride,
                                             typename Sum::Value* to, int toStride)
{
  Sum sums[maxTaps];
  const auto next = [&] {
    *to = sums[0].total();
    to += toStride;
    TESSERA_UNROLL_ALL
    for (int t = 0; t + 1 < maxTaps; ++t)
      sums[t] = sums[t + 1];
    sums[maxTaps - 1] = Sum();
  };
  TESSERA_UNROLL_AHEAD
  for (int v = 0; v < count; ++v) {
    const Taps<typename Sum::Value> taps = table.taps[v];
    const typename Sum::Value value = values[v * stride];
    TESSERA_UNROLL_ALL
    for (int t = 0; t < maxTaps; ++t)
      sums[t].add(taps.w[t], value);
    TESSERA_UNROLL_NOT
    for (int done = table.advance[v]; done > 0; --done)
      next();
  }
  TESSERA_UNROLL_NOT
  for (int k = 0; k <= order; ++k)
    next();
}

/// Contracts `used` staged slices along the first axis. Each thread takes a row, and neighbouring threads
/// neighbouring rows.
template <int D, class Sum, int Ahead = 4>
TESSERA_HOST_DEVICE inline void contractAlongX(const Plan& plan, const Tile& tile,
                                               const Shared<D, typename Sum::Value>& shared, int used,
                                               int thread, int threads)
{
  const int height = plan.axes[1].length;
  for (int task = thread; task < D * used * height; task += threads) {
    const int row = task % height, slot = task / height % used, c = task / height / used;
    const int at = (c * slots + slot) * height + row;
    if (row < tile.has[1])
      contractLine<Sum, Ahead>(shared.axes[0], plan.axes[0].order, tile.has[0], shared.staged + at * pitch, 1,
                               shared.slices + at * plan.rowPitch, 1);
  }
}

/// Contracts them along the second axis into the tile's partial control points, from slice `slice` on.
template <int D, class Sum, int Ahead = 4>
TESSERA_HOST_DEVICE inline void
contractAlongY(const Plan& plan, const Tile& tile, const Shared<D, typename Sum::Value>& shared, int slice,
               int used, typename Sum::Value* partial, int thread, int threads)
{
  const int height = plan.axes[1].length, width = tile.points(plan, 0);
  for (int task = thread; task < D * used * width; task += threads) {
    const int i = task % width, slot = task / width % used, c = task / width / used;
    contractLine<Sum, Ahead>(shared.axes[1], plan.axes[1].order, tile.has[1],
                             shared.slices + (c * slots + slot) * height * plan.rowPitch + i, plan.rowPitch,
                             partial + (tile.index * static_cast<std::size_t>(D) + c) * plan.componentStride()
                                 + static_cast<std::size_t>(slice + slot) * plan.slicePoints() + i,
                             plan.axes[0].maxPoints);
  }
}

/// The tiles of an axis whose voxels reach control point k: [first, first + count).
struct TileSpan {
  int first, count;
};

TESSERA_HOST_DEVICE inline int firstPoint(const Axis& axis, int tile)
{
  return supportOf(axis.field, tile * axis.length, axis.order).start;
}
TESSERA_HOST_DEVICE inline int lastPoint(const Axis& axis, int tile)
{
  return supportOf(axis.field, tile * axis.length + axis.voxelsOf(tile) - 1, axis.order).start + axis.order;
}

TESSERA_HOST_DEVICE inline TileSpan tilesOf(const Axis& axis, int k)
{
  const double guess = (k - axis.order + (axis.order - 1) / 2.0 - axis.field.first) * axis.tilesAPoint;
  int first = guess < 0 ? 0 : guess < axis.tiles - 1 ? static_cast<int>(guess) : axis.tiles - 1;
  while (first > 0 && lastPoint(axis, first - 1) >= k)
    --first;
  while (first < axis.tiles && lastPoint(axis, first) < k)
    ++first;
  int end = first;
  while (end < axis.tiles && firstPoint(axis, end) <= k)
    ++end;
  return {first, end - first};
}

/// One lane's part of the sum over all tiles' partial values at a control point, in the order of the tiles.
template <int D, class Value>
TESSERA_HOST_DEVICE inline void sumTiles(const Plan& plan, const TileSpan (&spans)[3], const Value* partial,
                                         const int (&point)[3], int lane, int lanes, double (&sum)[D])
{
  constexpr int together = 4; // values that are loaded at once
  for (double& s : sum)
    s = 0;
  const int count = spans[0].count * spans[1].count * spans[2].count;
  for (int first = lane; first < count; first += together * lanes) {
    Value values[together][D] = {};
    TESSERA_UNROLL_ALL
    for (int t = 0; t < together; ++t) {
      const int i = first + t * lanes;
      if (i < count) {
        const int x = spans[0].first + i % spans[0].count, rest = i / spans[0].count;
        const int y = spans[1].first + rest % spans[1].count, z = spans[2].first + rest / spans[1].count;
        const std::size_t tile =
            (static_cast<std::size_t>(z) * plan.axes[1].tiles + y) * plan.axes[0].tiles + x;
        const Value* from =
            partial + tile * D * plan.componentStride()
            + static_cast<std::size_t>(point[2] - firstPoint(plan.axes[2], z)) * plan.slicePoints()
            + (point[1] - firstPoint(plan.axes[1], y)) * plan.axes[0].maxPoints
            + (point[0] - firstPoint(plan.axes[0], x));
        for (int c = 0; c < D; ++c)
          values[t][c] = from[c * plan.componentStride()];
      }
    }
    for (int t = 0; t < together; ++t)
      for (int c = 0; c < D; ++c)
        sum[c] += values[t][c];
  }
}

}
