#include "Components/Transforms/ExactBendingEnergy.h"

#include "Components/Transforms/BendingEnergyMatrices.cuh"
#include "Core/Compute/Cuda.cuh"

namespace tessera {
namespace {

using namespace bending;

/// The sum over the block in a fixed order, in thread 0.
template <int Warps>
__device__ double blockSum(double value, double (&ofWarps)[Warps])
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

/// What the results of the blocks are added up by, in their order.
struct BlockSums {
  double* ofBlocks;
  unsigned* blocksDone; // 0 before and after
  double* value;
};

/// Adds the blocks' values, of which each thread has a part, in the block that ends last.
template <int Warps>
__device__ void addBlocks(double own, const BlockSums& sums)
{
  __shared__ double ofWarps[Warps];
  __shared__ bool last;
  const double ofBlock = blockSum(own, ofWarps);
  if (threadIdx.x == 0) {
    sums.ofBlocks[blockIdx.x] = ofBlock;
    __threadfence();
    last = atomicAdd(sums.blocksDone, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  __threadfence();
  own = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
    own += __ldcg(sums.ofBlocks + block);
  const double sum = blockSum(own, ofWarps);
  if (threadIdx.x == 0) {
    *sums.value = sum;
    *sums.blocksDone = 0;
  }
}

/// Reads the coefficients of a component (8 bytes a control point) with a border of 3, about 3 times in all, and writes 8 bytes of
/// gradient a control point.
__global__ void __launch_bounds__(threads, blocksAMultiprocessor)
    bendingEnergy(const __grid_constant__ Plan plan, const double* coefficients, double* gradient, BlockSums sums)
{
  extern __shared__ __align__(16) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
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
  addBlocks<warps>(own, sums);
}

/// See matrices::evaluateBlock.
__global__ void __launch_bounds__(matrices::threadCount, 1)
    bendingEnergyByMatrices(const __grid_constant__ Plan plan, const double* coefficients, double* gradient, BlockSums sums)
{
  extern __shared__ __align__(16) unsigned char memory[];
  matrices::Shared& shared = *reinterpret_cast<matrices::Shared*>(memory);
  addBlocks<matrices::warpCount>(matrices::evaluateBlock(plan, shared, coefficients, gradient), sums);
}

template <class Kernel>
void launch(Kernel kernel, int threads, std::size_t sharedBytes, cudaStream_t stream, const Plan& plan, const double* coefficients,
            double* gradient, const BlockSums& sums)
{
  constexpr std::size_t withoutAsking = 47 << 10; // a block has 48 KB; sums take the rest
  if (sharedBytes > withoutAsking)
    checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sharedBytes)),
              "shared memory of the bending energy");
  kernel<<<plan.blocks(), threads, sharedBytes, stream>>>(plan, coefficients, gradient, sums);
  checkLaunch("exact bending energy");
}

/// Whether the device has code for its tensor cores in this build: text for older devices that is compiled for newer ones has none.
bool hasMatrices(const Device& device)
{
  int major = 0;
  checkCuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.ordinal), "a device's capability");
  if (major < 9)
    return false;
  cudaFuncAttributes attributes{};
  checkCuda(cudaFuncGetAttributes(&attributes, bendingEnergyByMatrices), "attributes of the bending energy");
  return attributes.ptxVersion >= 90;
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
    byMatrices_ = hasMatrices(context.device);
  }
  const Plan plan = planOf<D>(bands_, bandsOnCuda_.span().data(), byMatrices_ ? matrices::cut : marching);
  if (sumsOnCuda_.size() == 0)
    sumsOnCuda_ = Buffer<double>(context, plan.blocks());
  const BlockSums sums{sumsOnCuda_.span().data(), blocksDone_.span().data(), valueOnDevice};
  double* const to = gradient.empty() ? nullptr : gradient.data();
  if (byMatrices_)
    launch(bendingEnergyByMatrices, matrices::threadCount, sizeof(matrices::Shared), stream, plan, coefficients.data(), to, sums);
  else
    launch(bendingEnergy, threads, sizeof(Shared), stream, plan, coefficients.data(), to, sums);
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);

}
