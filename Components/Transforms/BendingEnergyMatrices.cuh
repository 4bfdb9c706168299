#pragma once

#include "Components/Transforms/BendingEnergyPlan.h"

// ExactBendingEnergy by products of matrices in double precision, which tensor cores of compute capability 9 form from 16 x 4 and
// 4 x 8 numbers. A band of 7 is a matrix as any other: where the grid ends, nothing is different.
//
// A block owns 16 x 16 columns of control points of one component and a chunk of the last axis, which it takes in batches of 8
// layers, a layer a warp: contracted along the first axis, then, as the results lie in the registers, along the second one. The
// three sums of 0, 1 and 2 derivatives go to a ring of three batches in shared memory, from where a thread contracts a column along
// the last axis, 8 outputs at once. Layers of a batch begin 5 before its outputs, so that 14 of two batches are what those need.
namespace tessera::bending::matrices {

constexpr int side = 8;  // rows of a matrix of one order
constexpr int early = 5; // layers of a batch before its first output
constexpr int warpCount = batch, threadCount = lanes * warpCount;
constexpr int steps = 4;                      // products of 4 numbers that a side of outputs takes: 14 of 16
constexpr int stepsOfTile = 6, sidesRead = 3; // 22 of 24
constexpr int plane = tile * tile, batches = 3;
static_assert(plane == threadCount);

struct Shared {
  double ring[batches][batch][3][plane]; // [derivatives along the first two axes]; of one derivative twice the sum
  double y[2][steps][3][lanes];          // bands of the second axis as the lanes have them
  double z[batch][3][neighbours + 1];    // bands of the outputs along the last one, where they are not all equal
};

/// c += a b, where a has 16 rows of 4, b 8 columns of 4. A lane has row lane / 4 of a's upper and lower half, column lane / 4 of b,
/// number lane % 4; and of c's halves row lane / 4, columns 2 (lane % 4) and the next one.
__device__ __forceinline__ void multiplyAdd(double (&upper)[2], double (&lower)[2], double a0, double a1, double b)
{
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
      : "d"(a0), "d"(a1), "d"(b));
#endif
}

/// A block's part of the grid, and a thread's.
struct Place {
  int x, y, z, end, component; // first output; end of the last axis
  int lane, warp, row, number; // lane / 4, lane % 4
  int batchesOfOutputs;

  __device__ Place(const Plan& plan, int block)
  {
    x = block % plan.tiles[0] * tile;
    block /= plan.tiles[0];
    y = block % plan.tiles[1] * tile;
    block /= plan.tiles[1];
    z = block % plan.chunks * plan.chunk;
    component = block / plan.chunks;
    end = min(z + plan.chunk, plan.axes[2].points);
    lane = threadIdx.x % lanes;
    warp = threadIdx.x / lanes;
    row = lane / 4;
    number = lane % 4;
    batchesOfOutputs = (end - z + batch - 1) / batch;
  }
};

/// Band p of a control point for its neighbour m - 3, 0 for others.
__device__ __forceinline__ double bandOf(const Axis& axis, int point, int p, int m)
{
  const bool has = point < axis.points && static_cast<unsigned>(m) < neighbours;
  return has ? __ldg(axis.rows + static_cast<std::size_t>(point) * perPoint + p * neighbours + m) : 0;
}

/// Coefficients of a warp's layer with a border of 3, 0 outside of the grid: as matrices of 4 x 8, along x and y.
struct Layer {
  double values[sidesRead][stepsOfTile];
  unsigned inside; // of the grid: a bit each
  const double* corner;

  __device__ Layer(const Plan& plan, const Place& at, const double* component)
  {
    const int nx = plan.axes[0].points, ny = plan.axes[1].points;
    inside = 0;
#pragma unroll
    for (int n = 0; n < sidesRead; ++n)
#pragma unroll
      for (int q = 0; q < stepsOfTile; ++q) {
        const int dx = 4 * q + at.number, dy = side * n + at.row, x = at.x - reach + dx, y = at.y - reach + dy;
        const bool needed = dx < tile + 2 * reach && dy < tile + 2 * reach;
        inside |= (needed && x >= 0 && x < nx && y >= 0 && y < ny ? 1u : 0u) << (n * stepsOfTile + q);
      }
    corner = component + (static_cast<std::ptrdiff_t>(at.y - reach + at.row) * nx + at.x - reach + at.number);
  }
  __device__ __forceinline__ void load(const Plan& plan, const Place& at, int layer)
  {
    const int nx = plan.axes[0].points, ny = plan.axes[1].points;
    const bool exists = layer >= max(0, at.z - reach) && layer < min(plan.axes[2].points, at.end + reach);
    const unsigned has = exists ? inside : 0;
    const double* const from = corner + static_cast<std::ptrdiff_t>(layer) * nx * ny;
#pragma unroll
    for (int n = 0; n < sidesRead; ++n)
#pragma unroll
      for (int q = 0; q < stepsOfTile; ++q)
        values[n][q] = has >> (n * stepsOfTile + q) & 1 ? __ldg(from + side * n * nx + 4 * q) : 0;
  }
};

/// Bands along x as matrices of 16 x 4: orders 0 and 1 of a side, and order 2 of both sides.
struct BandsOfX {
  double lower[2][steps][2], second[stepsOfTile][2];

  __device__ BandsOfX(const Plan& plan, const Place& at)
  {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int point = at.x + side * i + at.row;
#pragma unroll
      for (int q = 0; q < steps; ++q)
#pragma unroll
        for (int p = 0; p < 2; ++p)
          lower[i][q][p] = bandOf(plan.axes[0], point, p, 4 * q + at.number - at.row);
#pragma unroll
      for (int q = 0; q < stepsOfTile; ++q)
        second[q][i] = bandOf(plan.axes[0], point, 2, 4 * q + at.number - at.row - side * i);
    }
  }
};

/// A warp's layer contracted along x: [side][derivatives][side of y] as a lane has it of matrices of 8 x 8.
struct AlongX {
  double sums[2][3][sidesRead][2] = {};

  __device__ __forceinline__ void contract(const BandsOfX& bands, const Layer& layer)
  {
#pragma unroll
    for (int q = 0; q < stepsOfTile; ++q)
#pragma unroll
      for (int n = 0; n < sidesRead; ++n) {
        const double b = layer.values[n][q];
        if (q < steps)
          multiplyAdd(sums[0][0][n], sums[0][1][n], bands.lower[0][q][0], bands.lower[0][q][1], b);
        if (q >= stepsOfTile - steps)
          multiplyAdd(sums[1][0][n], sums[1][1][n], bands.lower[1][q - 2][0], bands.lower[1][q - 2][1], b);
        multiplyAdd(sums[0][2][n], sums[1][2][n], bands.second[q][0], bands.second[q][1], b);
      }
  }
};

/// Where a layer's sums are, so that neither a quarter of a warp that writes nor one that reads meets itself in a bank.
__device__ __forceinline__ int placeInPlane(int x, int y)
{
  return (tile * y + x) ^ ((y & 4) | ((y & 2) << 2));
}

/// What bands of y a lane needs in each step: the numbers of a matrix are those that it has of the sums along x.
__device__ __forceinline__ void fillBandsOfY(const Plan& plan, const Place& at, Shared& shared)
{
  const int step = at.warp % steps, o = at.warp / steps, read = side * (step / 2) + 2 * at.number + step % 2;
#pragma unroll
  for (int p = 0; p < 3; ++p)
    shared.y[o][step][p][at.lane] = bandOf(plan.axes[1], at.y + side * o + at.row, p, read - at.row);
}

__device__ __forceinline__ void contractAlongY(const AlongX& x, const Place& at, const Shared& shared, double (*planes)[plane])
{
#pragma unroll
  for (int o = 0; o < 2; ++o) {
    double u[3][2][2] = {}, firstTwice[2][2] = {}; // [derivatives][side of x]; one derivative along each axis
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int n = o + step / 2, e = step % 2;
      const double(*y)[lanes] = shared.y[o][step];
      const double none = y[0][at.lane], one = y[1][at.lane], two = y[2][at.lane];
      multiplyAdd(u[0][0], u[0][1], x.sums[0][0][n][e], x.sums[1][0][n][e], none);
      multiplyAdd(u[1][0], u[1][1], x.sums[0][1][n][e], x.sums[1][1][n][e], none);
      multiplyAdd(u[2][0], u[2][1], x.sums[0][2][n][e], x.sums[1][2][n][e], none);
      multiplyAdd(firstTwice[0], firstTwice[1], x.sums[0][1][n][e], x.sums[1][1][n][e], one);
      multiplyAdd(u[1][0], u[1][1], x.sums[0][0][n][e], x.sums[1][0][n][e], one);
      multiplyAdd(u[2][0], u[2][1], x.sums[0][0][n][e], x.sums[1][0][n][e], two);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int to = placeInPlane(side * i + at.row, side * o + 2 * at.number + e);
        planes[0][to] = u[0][i][e];
        planes[1][to] = 2 * u[1][i][e];
        planes[2][to] = fma(2.0, firstTwice[i][e], u[2][i][e]);
      }
  }
}

__device__ __forceinline__ bool allWhole(const Axis& axis, int first)
{
  return whole(axis, first, first + batch - 1);
}

/// Ends in a barrier if some of the outputs from `first` on have bands of their own.
__device__ __forceinline__ void fillBandsOfZ(const Axis& axis, int first, Shared& shared)
{
  if (allWhole(axis, first))
    return;
  constexpr int ofPoint = 3 * (neighbours + 1);
  if (threadIdx.x < batch * ofPoint) {
    const int m = threadIdx.x % (neighbours + 1), p = threadIdx.x / (neighbours + 1) % 3, o = threadIdx.x / ofPoint;
    shared.z[o][p][m] = bandOf(axis, first + o, p, m);
  }
  __syncthreads();
}

/// 8 outputs of a thread's column from `first` on, from the two batches of the ring before `now`. Writes the gradient of the
/// component unless null and returns the thread's part of the value.
__device__ __forceinline__ double contractAlongZ(const Plan& plan, const Place& at, const Shared& shared, int first, int now,
                                                 const double* component, double* gradient)
{
  const Axis& axis = plan.axes[2];
  const int inX = threadIdx.x % tile, inY = threadIdx.x / tile, x = at.x + inX, y = at.y + inY;
  if (x >= plan.axes[0].points || y >= plan.axes[1].points)
    return 0;
  const std::size_t ofLayer = static_cast<std::size_t>(plan.axes[0].points) * plan.axes[1].points;
  const std::size_t begin = first * ofLayer + static_cast<std::size_t>(y) * plan.axes[0].points + x;
  double own[batch], sums[batch] = {};
#pragma unroll
  for (int o = 0; o < batch; ++o)
    own[o] = first + o < at.end ? __ldg(component + begin + o * ofLayer) : 0;
  const bool equal = allWhole(axis, first);
  const int place = placeInPlane(inX, inY);
  const double(*older)[3][plane] = shared.ring[(now + 1) % batches], (*newer)[3][plane] = shared.ring[(now + 2) % batches];
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    double v[batch + 2 * reach];
#pragma unroll
    for (int i = 0; i < batch + 2 * reach; ++i)
      v[i] = i < batch - 2 ? older[i + 2][p][place] : newer[i + 2 - batch][p][place];
#pragma unroll
    for (int o = 0; o < batch; ++o)
      sums[o] += equal ? wholeBand(axis, 2 - p, v + o) : band(shared.z[o][2 - p], v + o);
  }
  double value = 0;
#pragma unroll
  for (int o = 0; o < batch; ++o) {
    value = fma(sums[o], own[o], value);
    if (gradient != nullptr && first + o < at.end)
      gradient[begin + o * ofLayer] = 2 * sums[o];
  }
  return value;
}

/// The block's thread's part of the value. Reads the coefficients of a component (8 bytes a control point) with a border of 3
/// around 16 x 16 of a layer, twice in all, most of them from the caches, and writes 8 bytes of gradient a control point. A barrier
/// a batch: its layers are contracted beside the outputs of the two before.
__device__ __forceinline__ double evaluateBlock(const Plan& plan, Shared& shared, const double* coefficients, double* gradient)
{
  const Place at(plan, blockIdx.x);
  const std::size_t component = at.component * plan.pointCount();
  Layer layer(plan, at, coefficients + component);
  const int firstRead = at.z - early + at.warp;
  layer.load(plan, at, firstRead);
  const BandsOfX bands(plan, at);
  fillBandsOfY(plan, at, shared);
  __syncthreads();
  double value = 0;
  for (int i = 0, now = 0;; ++i, now = (now + 1) % batches) {
    if (i >= 2)
      value += contractAlongZ(plan, at, shared, at.z + batch * (i - 2), now, coefficients + component,
                              gradient ? gradient + component : nullptr);
    if (i > at.batchesOfOutputs)
      return value;
    AlongX along;
    along.contract(bands, layer);
    layer.load(plan, at, firstRead + batch * (i + 1));
    contractAlongY(along, at, shared, shared.ring[now][at.warp]);
    __syncthreads();
    if (i >= 1)
      fillBandsOfZ(plan.axes[2], at.z + batch * (i - 1), shared);
  }
}

}
