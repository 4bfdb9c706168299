#include "Core/Registration/FieldAdjoint.h"

#include "Core/Compute/Buffer.h"
#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/FieldAdjointPlan.h"

namespace tessera {
namespace {

using namespace adjoint;

constexpr int mostThreads = columns * mostRows, blocksAMultiprocessor = 2;

template <int D>
struct Covectors {
  const float* of[D];
};

/// A warp reads 32 voxels of a row of each component. Reads D * 4 bytes a voxel, each once; writes a tile's control points.
template <int D, class Sum>
__global__ void __launch_bounds__(mostThreads, blocksAMultiprocessor)
    sumTilesOfVoxels(const __grid_constant__ Plan plan, const __grid_constant__ Covectors<D> covectors, Ranges ranges,
                     typename Sum::Value* partial)
{
  using Value = typename Sum::Value;
  extern __shared__ __align__(32) unsigned char memory[];
  const Shared<D, Value> shared(plan, memory);
  const Tile tile(plan, blockIdx.x);
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  fillTables(plan, tile, shared, ranges, thread, threads);

  const std::size_t perLayer = static_cast<std::size_t>(plan.axes[0].field.voxels) * plan.axes[1].field.voxels;
  const bool inside = static_cast<int>(threadIdx.x) < tile.has[0] && static_cast<int>(threadIdx.y) < tile.has[1];
  const int voxels = inside ? tile.has[2] : 0;
  const float* from[D];
#pragma unroll
  for (int c = 0; c < D; ++c)
    from[c] = covectors.of[c] + tile.voxel[2] * perLayer
              + static_cast<std::size_t>(tile.voxel[1] + threadIdx.y) * plan.axes[0].field.voxels + tile.voxel[0] + threadIdx.x;
  float next[batch][D];
  const auto load = [&](int z) {
#pragma unroll
    for (int u = 0; u < batch; ++u)
#pragma unroll
      for (int c = 0; c < D; ++c)
        next[u][c] = z + u < voxels ? __ldcs(from[c] + (z + u) * perLayer) : 0;
  };

  load(0);
  Column<D, Sum> column;
  Value* const to = shared.staged + threadIdx.y * pitch + threadIdx.x;
  const int slotStride = plan.axes[1].length * pitch, steps = tile.steps(plan);
  __syncthreads();
  for (int z = 0, used = 0, layer = 0; z < steps;) {
    float values[batch][D];
#pragma unroll
    for (int u = 0; u < batch; ++u)
#pragma unroll
      for (int c = 0; c < D; ++c)
        values[u][c] = next[u][c];
    load(z + batch);
    used = column.take(values, z, shared, used, to, slotStride);
    z += batch;
    if (z < steps && !mustContract(plan, tile, z, used))
      continue;
    __syncthreads();
    contractAlongX<D, Sum>(plan, tile, shared, used, thread, threads);
    __syncthreads();
    contractAlongY<D, Sum>(plan, tile, shared, layer, used, partial, thread, threads);
    layer += used;
    used = 0;
  }
}

/// gradient[c * pointCount + k] += the tiles' sums. `Lanes` threads a control point. Reads what the first kernel wrote, reads and
/// writes D * 8 bytes a control point.
template <int D, int Lanes, class Value>
__global__ void addTiles(const __grid_constant__ Plan plan, Ranges ranges, const Value* partial, double* gradient)
{
  const unsigned nx = plan.axes[0].field.points, ny = plan.axes[1].field.points, nz = plan.axes[2].field.points;
  const unsigned count = nx * ny * nz, k = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes;
  const int lane = threadIdx.x % Lanes;
  const unsigned held = min(k, count - 1);
  const int point[3] = {static_cast<int>(held % nx), static_cast<int>(held / nx % ny), static_cast<int>(held / nx / ny)};
  double sum[D];
  sumTiles<D>(plan, ranges, partial, point, lane, Lanes, sum);
#pragma unroll
  for (int c = 0; c < D; ++c) {
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2)
      sum[c] += __shfl_down_sync(~0u, sum[c], distance);
    if (lane == 0 && k < count)
      gradient[c * static_cast<std::size_t>(count) + k] += sum[c];
  }
}

template <int D, class Sum>
void launch(const Context& context, const AlignedField<D>& field, const std::array<const float*, D>& covectors, double* gradient)
{
  using Value = typename Sum::Value;
  const cudaStream_t stream = cudaStreamOf(context);
  int mostShared = 0;
  checkCuda(cudaDeviceGetAttribute(&mostShared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device.ordinal),
            "shared memory of a block");
  const Plan plan = planOf<D, Value>(field, static_cast<std::size_t>(mostShared));
  const std::size_t bytes = Shared<D, Value>::bytes(plan);
  const auto kernel = sumTilesOfVoxels<D, Sum>;
  if (bytes > (48 << 10))
    checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "shared memory of the adjoint of a field");

  const int axisTiles = plan.axes[0].tiles + plan.axes[1].tiles + plan.axes[2].tiles;
  Buffer<int> tileRanges(context, 2 * static_cast<std::size_t>(axisTiles));
  Buffer<Value> partial(context, D * plan.componentStride() * plan.tileCount());
  const Ranges ranges{tileRanges.span().data(), tileRanges.span().data() + axisTiles};
  Covectors<D> from;
  std::copy(covectors.begin(), covectors.end(), from.of);
  kernel<<<plan.tileCount(), dim3(columns, plan.axes[1].length), bytes, stream>>>(plan, from, ranges, partial.span().data());
  checkLaunch("tiles of the adjoint of a field");

  constexpr unsigned threads = 128;
  const unsigned points = static_cast<unsigned>(field.pointCount());
  const bool manyTiles = tilesAPoint(plan) > 32;
  const auto add = manyTiles ? addTiles<D, 32, Value> : addTiles<D, 1, Value>;
  add<<<ceilDiv(points, threads / (manyTiles ? 32 : 1)), threads, 0, stream>>>(plan, ranges, partial.span().data(), gradient);
  checkLaunch("sum of the adjoint of a field");
}

}

template <int D>
void pullBackAlignedFieldOnCuda(Context& context, const AlignedField<D>& field, const std::array<const float*, D>& covectors,
                                GradientSummation summation, double* gradient)
{
  if (!hasSupport(field))
    return;
  refuseDenseGrid(field);
  switch (summation) {
  case GradientSummation::fusedMultiplyAdd:
    return launch<D, FusedSum>(context, field, covectors, gradient);
  case GradientSummation::kahan:
    return launch<D, KahanSum>(context, field, covectors, gradient);
  case GradientSummation::pichat:
    return launch<D, PichatSum>(context, field, covectors, gradient);
  case GradientSummation::doublePrecision:
    return launch<D, DoubleSum>(context, field, covectors, gradient);
  }
}

template void pullBackAlignedFieldOnCuda<2>(Context&, const AlignedField<2>&, const std::array<const float*, 2>&, GradientSummation,
                                            double*);
template void pullBackAlignedFieldOnCuda<3>(Context&, const AlignedField<3>&, const std::array<const float*, 3>&, GradientSummation,
                                            double*);

}
