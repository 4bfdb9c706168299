#include "Components/Transforms/Shared/ExactBendingEnergy.h"

#include "Components/Transforms/Shared/BendingEnergyPlan.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Error.h"

#include <cuda/atomic>

#include <limits>
#include <string>

namespace tessera {
namespace {

using namespace bending;

// So that sliceBytes fit in 32 bits.
constexpr std::size_t largestSlice =
    std::numeric_limits<unsigned>::max() / (sizeof(double) * (slicesRead - 1));

/// The sum over the block in a fixed order; it is valid in thread 0.
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

/// Memory for adding up the blocks' results in their order.
struct BlockSums {
  double* ofBlocks;
  unsigned* blocksDone; // 0 before and after the kernel
  double* value;
};

/// Adds up the values of all threads and blocks. The block that ends last does this for the blocks.
__device__ void addBlocks(double own, const BlockSums& sums)
{
  __shared__ double ofWarps[warps];
  __shared__ bool last;
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  const double ofBlock = blockSum(own, ofWarps);
  if (threadIdx.x == 0) {
    sums.ofBlocks[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] = ofBlock;
    const cuda::atomic_ref<unsigned, cuda::thread_scope_device> blocksDone(*sums.blocksDone);
    last = blocksDone.fetch_add(1, cuda::memory_order_acq_rel) == blocks - 1;
  }
  __syncthreads();
  if (!last)
    return;
  own = 0;
  for (unsigned block = threadIdx.x; block < blocks; block += threads)
    own += __ldcg(sums.ofBlocks + block);
  const double sum = blockSum(own, ofWarps);
  if (threadIdx.x == 0) {
    *sums.value = sum;
    *sums.blocksDone = 0;
  }
}

/// The shuffle between the steps of Line. All lanes of a warp must call it together.
__device__ __forceinline__ Passed shuffled(const Passed& passed, int before, int after)
{
  Passed received;
#pragma unroll
  for (int l = 0; l < slicesOfLane; ++l) {
    received.up[l] = __shfl_sync(~0u, passed.up[l], before);
    received.down[l] = __shfl_sync(~0u, passed.down[l], after);
  }
  return received;
}

/// Handles one row. Slots are constants, so that the rows that a line keeps stay in registers. Returns true
/// after the last row.
template <int Slot>
__device__ __forceinline__ bool finishesWith(Line& line, int before, int after)
{
  Row e;
  line.contractAlongY(Slot, e);
  Passed received = shuffled(line.passFirst(e), before, after);
  line.goOn(Slot);
  received = shuffled(line.passOn(2, e, received), before, after);
  received = shuffled(line.passOn(1, e, received), before, after);
  line.finish(e, received);
  return line.isDone();
}

/// The kernel of BendingEnergyLines.h. It reads the coefficients of a component (8 bytes a control point)
/// once from memory and 4 times from the caches, and the borders of tiles and segments more often; it writes
/// 8 bytes of gradient a control point.
__global__ void __launch_bounds__(threads, blocksAMultiprocessor)
    bendingEnergy(const __grid_constant__ Plan plan, const double* coefficients, double* gradient,
                  BlockSums sums)
{
  const int lane = threadIdx.x % lanes, before = (lane + lanes - 1) % lanes, after = (lane + 1) % lanes;
  const Place place(plan, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x / lanes, lane);
  Line line(plan, place, coefficients, gradient);
#pragma unroll 1
  while (!(finishesWith<0>(line, before, after) || finishesWith<1>(line, before, after)
           || finishesWith<2>(line, before, after) || finishesWith<3>(line, before, after)
           || finishesWith<4>(line, before, after) || finishesWith<5>(line, before, after)
           || finishesWith<6>(line, before, after)))
    ;
  addBlocks(line.value(), sums);
}

}

template <int D>
void ExactBendingEnergy<D>::evaluateOnCuda(Context& context, std::span<const double> coefficients,
                                           std::span<double> gradient, double* valueOnDevice)
{
  const cudaStream_t stream = cudaStreamOf(context);
  reserve(context);
  const Plan plan = planOf<D>(bands_, bandsOnCuda_.span().data());
  const std::size_t ofSlice = static_cast<std::size_t>(plan.axes[0].points) * plan.axes[1].points;
  if (D == 3 && ofSlice > largestSlice)
    throw Error(ExitCode::device,
                "exact bending energy: a slice of " + std::to_string(ofSlice)
                    + " control points: its rows are too far apart. Allowed on a GPU: at most "
                    + std::to_string(largestSlice) + ".");
  const BlockSums sums{sumsOnCuda_.span().data(), blocksDone_.span().data(), valueOnDevice};
  const dim3 grid(plan.blocksInLine(), plan.tiles, plan.components);
  bendingEnergy<<<grid, threads, 0, stream>>>(plan, coefficients.data(),
                                              gradient.empty() ? nullptr : gradient.data(), sums);
  checkLaunch("exact bending energy");
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>,
                                                    double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>,
                                                    double*);

}
