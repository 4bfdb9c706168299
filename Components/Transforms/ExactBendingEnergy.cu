#include "Components/Transforms/ExactBendingEnergy.h"

#include "Components/Transforms/BendingEnergyPlan.h"
#include "Core/Compute/Cuda.cuh"

#ifndef BEND_SKIP
#define BEND_SKIP 0
#endif

namespace tessera {
namespace {

using namespace bending;

/// The sum over the block in a fixed order, in thread 0.
__device__ double blockSum(double value, double (&ofWarps)[warps])
{
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_down_sync(~0u, value, distance);
  if (threadIdx.x % lanes == 0)
    ofWarps[threadIdx.x / lanes] = value;
  __syncthreads();
  value = 0;
  if (threadIdx.x == 0)
    for (const double part : ofWarps)
      value += part;
  return value;
}

/// Reads the coefficients of a component (8 bytes a control point) with a border of 3, about 3 times in all, and writes 8 bytes of
/// gradient a control point. The block that ends last adds the blocks' values in their order.
__global__ void __launch_bounds__(threads, BEND_BLOCKS)
    bendingEnergy(const __grid_constant__ Plan plan, const double* coefficients, double* gradient, double* blockValues,
                  unsigned* blocksDone, double* value)
{
  extern __shared__ __align__(16) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  __shared__ double ofWarps[warps];
  __shared__ bool last;
  const Tile tile(plan, blockIdx.x);
  const int thread = threadIdx.x;
  double next[columnsAThread];
  const auto load = [&](int layer) {
#pragma unroll
    for (int j = 0; j < columnsAThread; ++j)
      next[j] = Columns::coefficient(plan, tile, coefficients, thread, j, layer);
  };
  double own = 0;
#if BEND_ZLAST
  const int begin = max(tile.z - reach, 0), end = tile.z + tile.layers + reach;
  load(begin);
  fillRows(plan.axes[0], tile.x, shared.x, groupsX * groupX, thread);
  fillRows(plan.axes[1], tile.y, shared.y, groupsY * groupY, thread);
  Ring ring{};
  for (int layer = begin; layer < end; ++layer) {
#pragma unroll
    for (int j = 0; j < columnsAThread; ++j)
      shared.stage[0].rows[0][thread / lanes + j * warps][thread % lanes] = next[j];
    load(layer + 1);
    __syncthreads();
    spreadAlongX(plan, tile, shared.stage[0], shared, thread);
    __syncthreads();
    own += spreadAlongYAndMarch(plan, tile, shared.stage[0], shared, layer, thread, ring, coefficients, gradient);
  }
#elif BEND_PIPE
  Columns columns;
  columns.begin(plan, tile, coefficients, thread, tile.z);
  load(tile.z + reach);
  fillRows(plan.axes[0], tile.x, shared.x, groupsX * groupX, thread);
  fillRows(plan.axes[1], tile.y, shared.y, groupsY * groupY, thread);
  __syncthreads();
  const int threadY = thread < firstThreadY ? thread + threads - firstThreadY : thread - firstThreadY;
  for (int n = 0; n < tile.layers + 2; ++n) {
    if (n < tile.layers) {
      columns.advance(next);
      if (n + 1 < tile.layers)
        load(tile.z + n + 1 + reach);
      columns.contract(plan.axes[2], tile.z + n, thread, shared.stage[n % 2]);
    }
    if (n >= 1 && n <= tile.layers)
      contractAlongX(plan, tile, shared.stage[(n + 1) % 2], shared, thread);
    if (n >= 2)
      own += contractAlongY(plan, tile, shared.stage[n % 2], shared, tile.z + n - 2, threadY, coefficients, gradient);
    __syncthreads();
  }
#else
  Columns columns;
  columns.begin(plan, tile, coefficients, thread, tile.z);
  load(tile.z + reach);
  fillRows(plan.axes[0], tile.x, shared.x, groupsX * groupX, thread);
  fillRows(plan.axes[1], tile.y, shared.y, groupsY * groupY, thread);
  for (int layer = tile.z; layer < tile.z + tile.layers; ++layer) {
    columns.advance(next);
    if (layer + 1 < tile.z + tile.layers)
      load(layer + 1 + reach);
    columns.contract(plan.axes[2], layer, thread, shared.stage[0]);
    __syncthreads();
#if !(BEND_SKIP & 1)
    contractAlongX(plan, tile, shared.stage[0], shared, thread);
#endif
    __syncthreads();
#if !(BEND_SKIP & 2)
    own += contractAlongY(plan, tile, shared.stage[0], shared, layer, thread, coefficients, gradient);
#endif
  }
#endif

  const double ofBlock = blockSum(own, ofWarps);
  if (thread == 0) {
    blockValues[blockIdx.x] = ofBlock;
    __threadfence();
    last = atomicAdd(blocksDone, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  __threadfence();
  own = 0;
  for (unsigned block = thread; block < gridDim.x; block += threads)
    own += __ldcg(blockValues + block);
  const double sum = blockSum(own, ofWarps);
  if (thread == 0) {
    *value = sum;
    *blocksDone = 0;
  }
}

}

template <int D>
void ExactBendingEnergy<D>::evaluateOnCuda(Context& context, std::span<const double> coefficients, std::span<double> gradient,
                                           double* valueOnDevice)
{
  const cudaStream_t stream = cudaStreamOf(context);
  if (bandsOnCuda_.size() == 0) {
    bandsOnCuda_.fromHost(context, rowsOf<D>(bands_));
    blocksDone_.fromHost(context, std::vector<unsigned>{0});
  }
  const Plan plan = planOf<D>(bands_, bandsOnCuda_.span().data());
  if (sumsOnCuda_.size() == 0)
    sumsOnCuda_ = Buffer<double>(context, plan.blocks());
  if (sizeof(Shared) > (48 << 10) - 1024)
    checkCuda(cudaFuncSetAttribute(bendingEnergy, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(Shared))),
              "shared memory of the bending energy");
  bendingEnergy<<<plan.blocks(), threads, sizeof(Shared), stream>>>(plan, coefficients.data(), gradient.empty() ? nullptr : gradient.data(),
                                                       sumsOnCuda_.span().data(), blocksDone_.span().data(), valueOnDevice);
  checkLaunch("exact bending energy");
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);

}
