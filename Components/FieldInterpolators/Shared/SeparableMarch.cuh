#pragma once

#include "Components/FieldInterpolators/Shared/FieldKernels.cuh"

#include <algorithm>
#include <cmath>

// Code that the separable kernels on CUDA share: the shape of a block, and the march along y.
namespace tessera::separable {

constexpr int maxRows = 64;

/// The voxels of a block along x (32 for each warp), y and z, and the largest number of control points that
/// they need along x (`width`) and y (`lines`). In 2D the depth is 1. The first block has `missingRows` rows
/// fewer, so that the blocks behind it begin with whole tiles.
struct BlockShape {
  int warps, rows, depth;
  int lines, width;
  int missingRows;

  __host__ __device__ int area() const { return lines * width; }
};

/// The largest number of control points that `voxels` consecutive voxels of an axis need.
inline int pointsFor(const FieldAxis& axis, int voxels, int order)
{
  return std::min(static_cast<int>((voxels - 1) * axis.step) + 2 + order, axis.points);
}

/// How many voxels of voxel 0's tile lie before it.
inline int rowsSinceTileBegan(const FieldAxis& axis, int tile, int order)
{
  const double behind = axis.first - (order - 1) / 2.0;
  return static_cast<int>((behind - std::floor(behind)) * tile + 1e-6) % tile;
}

/// The number of warps of a block along x, up to four: the smallest one that needs the fewest blocks.
inline int warpsOfFewestBlocks(int voxels)
{
  constexpr int most = 4;
  const int needed = ceilDiv(voxels, 32);
  return ceilDiv(needed, ceilDiv(needed, most));
}

/// A shape with about the wanted rows. These are whole tiles if tiles are whole, and as many as fit
/// `sharedBytes`.
template <int D>
BlockShape shapeFor(const AlignedField<D>& field, int warps, int wantedRows, int depth,
                    std::size_t bytesAPoint, std::size_t sharedBytes)
{
  BlockShape shape{warps, 0, D == 3 ? depth : 1, 0, 0, 0};
  shape.width = pointsFor(field.axes[0], 32 * shape.warps, field.order);
  const FieldAxis& y = field.axes[1];
  for (int wanted = std::min(wantedRows, maxRows);; wanted = (wanted + 1) / 2) {
    const int tile = wholeTile(y), tiles = tile == 0 ? 0 : (wanted + tile / 2) / tile;
    shape.rows = tiles > 0 && tiles * tile <= maxRows ? tiles * tile : wanted;
    shape.missingRows = tiles > 0 ? rowsSinceTileBegan(y, tile, field.order) : 0;
    if (shape.rows >= y.voxels) {
      shape.rows = y.voxels;
      shape.missingRows = 0;
    }
    shape.lines = pointsFor(y, shape.rows, field.order);
    if (wanted == 1 || shape.depth * shape.area() * bytesAPoint <= sharedBytes)
      return shape;
  }
}

/// The arguments of a kernel.
template <int D>
struct March {
  FieldAxis axes[D];
  ControlGrid grid;
  BlockShape shape;
  FieldStore store;
};

template <int D>
March<D> marchOf(const AlignedField<D>& field, const float* coefficients, const FieldTarget& target,
                 const BlockShape& shape)
{
  March<D> march;
  for (int d = 0; d < D; ++d)
    march.axes[d] = field.axes[d];
  march.grid = controlGridOf(field, {nullptr, coefficients});
  march.shape = shape;
  march.store = fieldStoreOf(field, target);
  return march;
}

template <int D>
dim3 blocksOf(const March<D>& m)
{
  return dim3(ceilDiv(m.axes[0].voxels, 32 * m.shape.warps),
              ceilDiv(m.axes[1].voxels + m.shape.missingRows, m.shape.rows),
              D == 3 ? ceilDiv(m.axes[D - 1].voxels, m.shape.depth) : 1);
}

inline dim3 threadsOf(const BlockShape& shape)
{
  return dim3(32 * shape.warps, shape.depth);
}

/// The place of a block and of its thread, and the weights along z. Each lane of a warp computes one support
/// of the block and all lanes read it, because the double-precision arithmetic of six supports would take as
/// long as a march.
template <int D, int Order, int Depth>
struct Place {
  int x, y, z;      // the thread's first voxel
  int rows;         // rows of the block
  int pointX, line; // first control points of the block
  int width, lines; // the numbers of these control points
  int slice;        // first control point along z
  static constexpr int slices = D == 3 ? Order + Depth : 1;
  float zWeights[Depth][slices];

  __device__ explicit Place(const March<D>& m)
  {
    enum Lane { firstOfX, lastOfX, firstOfY, lastOfY, firstOfZ };
    constexpr unsigned all = ~0u;
    const int firstX = blockIdx.x * blockDim.x, firstZ = blockIdx.z * blockDim.y, lane = threadIdx.x % 32;
    const int firstRow = static_cast<int>(blockIdx.y) * m.shape.rows - m.shape.missingRows;
    x = firstX + threadIdx.x;
    y = max(firstRow, 0);
    z = firstZ + threadIdx.y;
    rows = min(firstRow + m.shape.rows, m.axes[1].voxels) - y;

    const FieldAxis& axis = m.axes[lane < firstOfY ? 0 : lane < firstOfZ ? 1 : D - 1];
    const int voxel = lane == firstOfX   ? firstX
                      : lane == lastOfX  ? firstX + static_cast<int>(blockDim.x) - 1
                      : lane == firstOfY ? y
                      : lane == lastOfY  ? y + rows - 1
                                         : firstZ + lane - firstOfZ;
    const AxisSupport support = supportOf(axis, min(voxel, axis.voxels - 1), Order);
    const auto startOf = [&](int of) { return __shfl_sync(all, support.start, of); };
    pointX = startOf(firstOfX);
    width = startOf(lastOfX) + Order + 1 - pointX;
    line = startOf(firstOfY);
    lines = startOf(lastOfY) + Order + 1 - line;
    slice = 0;
    if constexpr (D == 3) {
      float weights[Order + 1];
      axisWeights<Order, float>(support, weights);
      slice = startOf(firstOfZ);
#pragma unroll
      for (int d = 0; d < Depth; ++d) {
        // The next voxel's support begins at most one control point later, since grid spacings are at least
        // one voxel.
        const bool further = startOf(firstOfZ + d) != slice;
        float w[slices + 2] = {};
#pragma unroll
        for (int k = 0; k <= Order; ++k)
          w[k + 1] = __shfl_sync(all, weights[k], firstOfZ + d);
#pragma unroll
        for (int r = 0; r < slices; ++r)
          zWeights[d][r] = further ? w[r] : w[r + 1];
      }
    } else {
      zWeights[0][0] = 1;
    }
  }
  /// Whether the thread has voxels of the lattice.
  __device__ bool isInside(const March<D>& m) const
  {
    return x < m.axes[0].voxels && (D == 2 || z < m.axes[D - 1].voxels);
  }
  __device__ std::size_t voxel(const March<D>& m) const
  {
    return (static_cast<std::size_t>(z) * m.axes[1].voxels + y) * m.axes[0].voxels + x;
  }
  /// Whether the mask contains any voxel of the block.
  __device__ bool anyWanted(const March<D>& m) const
  {
    if (m.store.mask == nullptr)
      return true;
    bool any = false;
    if (isInside(m))
      for (int row = 0; row < rows && !any; ++row)
        any = m.store.wants(voxel(m) + static_cast<std::size_t>(row) * m.axes[0].voxels);
    return __syncthreads_or(any);
  }
};

/// Computes the weights of all rows, and the row at which each line of control points is finished.
template <int Order>
__device__ void fillRows(const FieldAxis& axis, int firstRow, int rows, int firstLine, float4* weights,
                         int* ends)
{
  const int threads = blockDim.x * blockDim.y;
  for (int row = threadIdx.y * blockDim.x + threadIdx.x; row < rows; row += threads) {
    const AxisSupport support = supportOf(axis, firstRow + row, Order);
    float w[4] = {};
    axisWeights<Order, float>(support, w);
    weights[row] = make_float4(w[0], w[1], w[2], w[3]);
    if (row + 1 == rows || supportOf(axis, firstRow + row + 1, Order).start != support.start)
      ends[support.start - firstLine] = row + 1;
  }
}

/// sum_k w_k v[(first + k) % Taps], where v is a ring of planes in registers.
template <int Taps, int First>
__device__ __forceinline__ float ringSum(const float4& w, const float (&v)[Taps])
{
  float sum = fmaf(w.x, v[First % Taps], 0.0f);
  if constexpr (Taps > 1)
    sum = fmaf(w.y, v[(First + 1) % Taps], sum);
  if constexpr (Taps > 2)
    sum = fmaf(w.z, v[(First + 2) % Taps], sum);
  if constexpr (Taps > 3)
    sum = fmaf(w.w, v[(First + 3) % Taps], sum);
  return sum;
}

/// Contracts the control points that a block needs along z into along[z][line][x]. In 2D it copies them.
template <int D, int Order, int Depth>
__device__ void contractAlongZ(const March<D>& m, const Place<D, Order, Depth>& place, float4* along)
{
  constexpr int slices = Place<D, Order, Depth>::slices;
  const int warp = threadIdx.y * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned perSlice = m.grid.points[0] * m.grid.points[1], perComponent = m.grid.perComponent;
  // Distances from the first slice. A slice beyond the grid has zero weights; the grid's last one is read for
  // it.
  unsigned beyond[slices];
#pragma unroll
  for (int r = 0; r < slices; ++r)
    beyond[r] = D == 3 ? min(r, m.grid.points[2] - 1 - place.slice) * perSlice : 0;
  for (int line = warp; line < place.lines; line += blockDim.x / 32 * blockDim.y)
    for (int i = lane; i < place.width; i += 32) {
      const unsigned from =
          place.slice * perSlice + (place.line + line) * m.grid.points[0] + place.pointX + i;
      float points[D][slices];
#pragma unroll
      for (int c = 0; c < D; ++c) {
#pragma unroll
        for (int r = 0; r < slices; ++r)
          points[c][r] = __ldg(m.grid.coefficients + (from + c * perComponent + beyond[r]));
      }
#pragma unroll
      for (int z = 0; z < Depth; ++z) {
        float value[3] = {};
#pragma unroll
        for (int c = 0; c < D; ++c) {
#pragma unroll
          for (int r = 0; r < slices; ++r)
            value[c] = fmaf(place.zWeights[z][r], points[c][r], value[c]);
        }
        along[(z * m.shape.lines + line) * m.shape.width + i] = make_float4(value[0], value[1], value[2], 0);
      }
    }
}

/// The sum of Order + 1 neighbours, multiplied by their weights, for D components.
template <int D, int Order>
__device__ __forceinline__ void contractAlongX(const float4* from, const float (&w)[Order + 1],
                                               float (&sum)[D])
{
#pragma unroll
  for (int k = 0; k <= Order; ++k) {
    const float4 point = from[k];
    const float components[3] = {point.x, point.y, point.z};
#pragma unroll
    for (int c = 0; c < D; ++c)
      sum[c] = k == 0 ? w[0] * components[c] : fmaf(w[k], components[c], sum[c]);
  }
}

/// Visits the rows of a block in order. `load.template operator()<slot>(line)` computes a line, and
/// `store.template operator()<first>(row)` writes a row from the ring whose oldest line is in slot `first`.
template <int Taps, class Load, class Store>
__device__ __forceinline__ void marchRows(const int* ends, int rows, Load&& load, Store&& store)
{
  int row = 0, line = 0;
  const auto untilLineEnds = [&]<int First>() {
    const int end = ends[line];
#pragma unroll 1
    for (; row < end; ++row)
      store.template operator()<First>(row);
    if (row >= rows)
      return false;
    ++line;
    load.template operator()<First>(line + Taps - 1);
    return true;
  };
  load.template operator()<0>(0);
  load.template operator()<1>(1);
  if constexpr (Taps > 2)
    load.template operator()<2>(2);
  if constexpr (Taps > 3)
    load.template operator()<3>(3);
  if constexpr (Taps == 2)
    while (untilLineEnds.template operator()<0>() && untilLineEnds.template operator()<1>()) {
    }
  else if constexpr (Taps == 3)
    while (untilLineEnds.template operator()<0>() && untilLineEnds.template operator()<1>()
           && untilLineEnds.template operator()<2>()) {
    }
  else
    while (untilLineEnds.template operator()<0>() && untilLineEnds.template operator()<1>()
           && untilLineEnds.template operator()<2>() && untilLineEnds.template operator()<3>()) {
    }
}

/// How many slices of voxels the kernel for displacements handles at once along z.
template <int D>
constexpr int depthOf = D == 3 ? 2 : 1;

/// The shared memory of displaceRows, in bytes.
template <int D>
std::size_t sharedBytes(const BlockShape& shape)
{
  return (depthOf<D> * shape.area() + shape.rows) * sizeof(float4) + shape.lines * sizeof(int);
}

/// Displacements of a block's voxels; the formulas are in SeparableOnCuda.h. Each thread with voxels makes a
/// sink, makeSink(place), and calls sink(u) for its rows in order.
template <int D, int Order, class MakeSink>
__device__ __forceinline__ void displaceRows(const March<D>& m, float4* shared, MakeSink&& makeSink)
{
  constexpr int taps = Order + 1;
  float4* along = shared;                                        // [depth][lines][width]
  float4* rowWeights = along + depthOf<D> * m.shape.area();      // [rows]
  int* ends = reinterpret_cast<int*>(rowWeights + m.shape.rows); // [lines]

  const Place<D, Order, depthOf<D>> place(m);
  if (!place.anyWanted(m))
    return;
  contractAlongZ(m, place, along);
  fillRows<Order>(m.axes[1], place.y, place.rows, place.line, rowWeights, ends);
  const AxisSupport support = supportOf(m.axes[0], min(place.x, m.axes[0].voxels - 1), Order);
  float w[taps];
  axisWeights<Order, float>(support, w);
  __syncthreads();
  if (!place.isInside(m))
    return;

  const float4* mine = along + threadIdx.y * m.shape.area() + support.start - place.pointX;
  float ring[D][taps];
  const auto load = [&]<int Slot>(int line) {
    float sum[D];
    contractAlongX<D, Order>(mine + line * m.shape.width, w, sum);
#pragma unroll
    for (int c = 0; c < D; ++c)
      ring[c][Slot] = sum[c];
  };
  auto sink = makeSink(place);
  marchRows<taps>(ends, place.rows, load, [&]<int First>(int row) {
    const float4 weights = rowWeights[row];
    float u[D];
#pragma unroll
    for (int c = 0; c < D; ++c)
      u[c] = ringSum<taps, First>(weights, ring[c]);
    sink(u);
  });
}

/// Calls run(field, coefficients). If an axis has too few control points for any support, a grid of zeros
/// takes their place.
template <int D, class Run>
void withSupport(Context& context, AlignedField<D> field, const float* coefficients, Run&& run)
{
  bool enough = true;
  for (const FieldAxis& axis : field.axes)
    enough = enough && axis.points > field.order;
  if (enough)
    return run(field, coefficients);
  for (FieldAxis& axis : field.axes)
    axis.points = field.order + 1;
  Buffer<float> zeros(context, D * field.pointCount());
  context.stream->fill(zeros.span().data(), 0, zeros.span().size_bytes());
  run(field, zeros.span().data());
}

}
