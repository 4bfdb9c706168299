#include "Core/Registration/Fields/FieldAdjoint.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Fields/FieldAdjointPlan.h"

#include <algorithm>

namespace tessera {
namespace {

using namespace adjoint;

constexpr std::size_t maxVoxels = std::size_t{1} << 32; // threads count voxels in 32 bits

template <int D>
struct Covectors {
  const float* of[D];
  const float* factors;
};

/// First kernel: each block sums a tile of voxels to the tile's control points (FieldAdjointTiles.h). A warp
/// reads 32 voxels of a row of each component. It reads D * 4 bytes a voxel, and 4 of its factor if there are
/// factors, each once.
template <int D, class Sum, bool Factored>
__global__ void __launch_bounds__(Sum::shape.threads(), Sum::shape.blocksAMultiprocessor)
    sumTilesOfVoxels(const __grid_constant__ Plan plan, const __grid_constant__ Covectors<D> covectors,
                     typename Sum::Value* partial)
{
  using Value = typename Sum::Value;
  extern __shared__ __align__(32) unsigned char memory[];
  const Shared<D, Value> shared(plan, memory);
  const Tile tile(plan, blockIdx.x);
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;

  const unsigned perRow = plan.axes[0].field.voxels, perSlice = perRow * plan.axes[1].field.voxels;
  constexpr int per = Sum::shape.columnsAThread;
  // So many values are loaded ahead; with factors, more would not fit in registers.
  constexpr int ahead = Factored ? 2 : 4;
  unsigned at[per];
  int voxels[per];
#pragma unroll
  for (int i = 0; i < per; ++i) {
    const int row = threadIdx.y + i * blockDim.y;
    const bool inside = static_cast<int>(threadIdx.x) < tile.has[0] && row < tile.has[1];
    voxels[i] = inside ? tile.has[2] : 0;
    at[i] =
        inside ? tile.voxel[2] * perSlice + (tile.voxel[1] + row) * perRow + tile.voxel[0] + threadIdx.x : 0;
  }
  const int steps = tile.steps(plan);
  Value* const to = shared.staged + threadIdx.y * pitch + threadIdx.x;
  const int slotStride = plan.axes[1].length * pitch, columnStride = blockDim.y * pitch;
  Columns<D, Sum> sums;

  float next[batch][per][D], nextFactors[batch][per];
  const auto load = [&](int z) {
#pragma unroll
    for (int u = 0; u < batch; ++u) {
#pragma unroll
      for (int i = 0; i < per; ++i) {
#pragma unroll
        for (int c = 0; c < D; ++c)
          next[u][i][c] = z + u < voxels[i] ? __ldcs(covectors.of[c] + at[i]) : 0;
        if constexpr (Factored)
          nextFactors[u][i] = z + u < voxels[i] ? __ldcs(covectors.factors + at[i]) : 0;
        at[i] += perSlice;
      }
    }
  };
  load(0);
  fillTables(plan, tile, shared, thread, threads);
  __syncthreads();
  for (int z = 0, used = 0, slice = 0; z < steps;) {
    float values[batch][per][D];
#pragma unroll
    for (int u = 0; u < batch; ++u) {
#pragma unroll
      for (int i = 0; i < per; ++i) {
#pragma unroll
        for (int c = 0; c < D; ++c)
          values[u][i][c] = Factored ? nextFactors[u][i] * next[u][i][c] : next[u][i][c];
      }
    }
    load(z + batch);
    used = sums.take(values, z, shared.axes[2], used, to, slotStride, columnStride);
    z += batch;
    if (z < steps && !mustContract(plan, tile, z, used))
      continue;
    __syncthreads();
    contractAlongX<D, Sum, ahead>(plan, tile, shared, used, thread, threads);
    __syncthreads();
    contractAlongY<D, Sum, ahead>(plan, tile, shared, slice, used, partial, thread, threads);
    slice += used;
    used = 0;
  }
}

/// Second kernel: gradient[c * pointCount + k] += the sums of all tiles at k (= if `stays` is false). `Lanes`
/// threads share a control point. It reads what the first kernel wrote, and writes D * 8 bytes a control
/// point, which it also reads if they stay.
template <int D, int Lanes, class Value>
__global__ void addTiles(const __grid_constant__ Plan plan, const Value* partial, bool stays,
                         double* gradient)
{
  const unsigned nx = plan.axes[0].field.points, ny = plan.axes[1].field.points,
                 nz = plan.axes[2].field.points;
  const unsigned count = nx * ny * nz, k = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes;
  const int lane = threadIdx.x % Lanes;
  const unsigned held = min(k, count - 1);
  const int point[3] = {static_cast<int>(held % nx), static_cast<int>(held / nx % ny),
                        static_cast<int>(held / nx / ny)};
  TileSpan spans[3];
#pragma unroll
  for (int d = 0; d < 3; ++d)
    spans[d] = tilesOf(plan.axes[d], point[d]);
  double sum[D];
  sumTiles<D>(plan, spans, partial, point, lane, Lanes, sum);
#pragma unroll
  for (int c = 0; c < D; ++c) {
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2)
      sum[c] += __shfl_down_sync(~0u, sum[c], distance);
    if (lane == 0 && k < count) {
      double* const to = gradient + c * static_cast<std::size_t>(count) + k;
      *to = (stays ? *to : 0) + sum[c];
    }
  }
}

template <int D, class Sum>
void launch(const Context& context, const AlignedField<D>& field, const Covectors<D>& covectors,
            GradientBefore before, double* gradient)
{
  using Value = typename Sum::Value;
  const cudaStream_t stream = cudaStreamOf(context);
  int maxShared = 0;
  checkCuda(
      cudaDeviceGetAttribute(&maxShared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device.ordinal),
      "shared memory of a block");
  const Plan plan = planOf<D, Sum>(field, static_cast<std::size_t>(maxShared));
  const std::size_t bytes = Shared<D, Value>::bytes(plan);
  const auto kernel = covectors.factors ? sumTilesOfVoxels<D, Sum, true> : sumTilesOfVoxels<D, Sum, false>;
  if (bytes > (48 << 10))
    checkCuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of the adjoint of a field");

  Buffer<Value> partial(context, D * plan.componentStride() * plan.tileCount());
  kernel<<<plan.tileCount(), dim3(columns, plan.threadRows), bytes, stream>>>(plan, covectors,
                                                                              partial.span().data());
  checkLaunch("tiles of the adjoint of a field");

  constexpr unsigned threads = 128;
  const unsigned points = static_cast<unsigned>(field.pointCount());
  const bool manyTiles = tilesAPoint(plan) > 32;
  const auto add = manyTiles ? addTiles<D, 32, Value> : addTiles<D, 1, Value>;
  add<<<ceilDiv(points, threads / (manyTiles ? 32 : 1)), threads, 0, stream>>>(
      plan, partial.span().data(), before == GradientBefore::stays, gradient);
  checkLaunch("sum of the adjoint of a field");
}

}

template <int D>
void pullBackAlignedFieldOnCuda(Context& context, const AlignedField<D>& field,
                                const std::array<const float*, D>& covectors, const float* factors,
                                GradientSummation summation, double* gradient, GradientBefore before)
{
  if (!hasSupport(field))
    return;
  refuseDenseGrid(field);
  const int slices = field.axes[D - 1].voxels;
  const std::size_t perSlice = field.voxelCount() / slices;
  const int slab = static_cast<int>(std::clamp<std::size_t>(maxVoxels / perSlice, 1, slices));
  for (int first = 0; first < slices; first += slab) {
    const AlignedField<D> part = field.slab(first, std::min(slab, slices - first));
    Covectors<D> from;
    for (int c = 0; c < D; ++c)
      from.of[c] = covectors[c] + first * perSlice;
    from.factors = factors ? factors + first * perSlice : nullptr;
    switch (summation) {
    case GradientSummation::fusedMultiplyAdd:
      launch<D, FusedSum>(context, part, from, before, gradient);
      break;
    case GradientSummation::kahan:
      launch<D, KahanSum>(context, part, from, before, gradient);
      break;
    case GradientSummation::pichat:
      launch<D, PichatSum>(context, part, from, before, gradient);
      break;
    case GradientSummation::doublePrecision:
      launch<D, DoubleSum>(context, part, from, before, gradient);
      break;
    }
    before = GradientBefore::stays;
  }
}

TESSERA_INSTANTIATE_FUNCTIONS(pullBackAlignedFieldOnCuda<D>);

}
