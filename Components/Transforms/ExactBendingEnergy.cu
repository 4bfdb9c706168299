#include "Components/Transforms/ExactBendingEnergy.h"

#include "Components/Transforms/BendingEnergyPlan.h"
#include "Core/Compute/Cuda.cuh"

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
__global__ void __launch_bounds__(threads, blocksAMultiprocessor)
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
  Columns columns;
  columns.begin(plan, tile, coefficients, thread, tile.z);
  load(tile.z + reach);
  fillRows(plan.axes[0], tile.x, shared.x, groups * group, thread);
  fillRows(plan.axes[1], tile.y, shared.y, groups * group, thread);
  for (int layer = tile.z; layer < tile.z + tile.layers; ++layer) {
    columns.advance(next);
    if (layer + 1 < tile.z + tile.layers)
      load(layer + 1 + reach);
    columns.contract(plan.axes[2], layer, thread, shared);
    __syncthreads();
    contractAlongX(plan, tile, shared, thread);
    __syncthreads();
    own += contractAlongY(plan, tile, shared, layer, thread, coefficients, gradient);
  }

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
  bendingEnergy<<<plan.blocks(), threads, sizeof(Shared), stream>>>(
      plan, coefficients.data(), gradient.empty() ? nullptr : gradient.data(), sumsOnCuda_.span().data(), blocksDone_.span().data(),
      valueOnDevice);
  checkLaunch("exact bending energy");
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);

}
