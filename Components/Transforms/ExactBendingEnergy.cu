#include "Components/Transforms/ExactBendingEnergy.h"

#include "Components/Transforms/BendingEnergyPlan.h"
#include "Core/Compute/Cuda.cuh"

#include <cstdint>

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

/// What the results of the blocks are added up by, in their order.
struct BlockSums {
  double* ofBlocks;
  unsigned* blocksDone; // 0 before and after
  double* value;
};

/// Adds the blocks' values, of which each thread has a part, in the block that ends last.
__device__ void addBlocks(double own, const BlockSums& sums)
{
  __shared__ double ofWarps[warps];
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
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads)
    own += __ldcg(sums.ofBlocks + block);
  const double sum = blockSum(own, ofWarps);
  if (threadIdx.x == 0) {
    *sums.value = sum;
    *sums.blocksDone = 0;
  }
}

/// See Line::add. All lanes of a warp ask together.
struct Shuffled {
  const AlongZ& f;

  __device__ __forceinline__ double operator()(int q, int c, int by) const
  {
    return by < 0 ? __shfl_up_sync(~0u, f[q][c], -by) : __shfl_down_sync(~0u, f[q][c], by);
  }
};

/// What a warp's first three rows add to its partner's outputs.
struct Exchanged {
  double2 of[reach][lanes];
};

/// See Line::finish. The block's warps come to its barrier together, as all of them have three outputs and more.
template <bool Paired>
__device__ __forceinline__ void exchangeAndFinish(Line<Paired>& line, Exchanged (&exchanged)[warps], double (&done)[2])
{
  const int warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  if (line.isPartners()) {
    exchanged[warp].of[line.exchanged()][lane] = make_double2(done[0], done[1]);
    if (line.exchanged() == reach - 1)
      __syncthreads();
  } else if (line.lacksPartners()) {
    const double2 partners = exchanged[warp ^ 1].of[line.exchanged()][lane];
    done[0] += partners.x;
    done[1] += partners.y;
  }
  line.finish(done);
}

/// Reads the coefficients of a component (8 bytes a control point) once from memory, 7 times from the caches, and the borders of
/// tiles and segments again; writes 8 bytes of gradient a control point.
template <bool Paired>
__global__ void __launch_bounds__(threads, blocksAMultiprocessor)
    bendingEnergy(const __grid_constant__ Plan plan, const double* coefficients, double* gradient, BlockSums sums)
{
  __shared__ Exchanged exchanged[warps];
  const Place place(plan, blockIdx.x, threadIdx.x / lanes, threadIdx.x % lanes);
  Line<Paired> line(plan, place, coefficients, gradient);
#pragma unroll 1
  while (line.hasRows()) {
    AlongZ f;
    double done[2];
    line.contractAlongZ(f);
    line.add(f, Shuffled{f}, done);
    exchangeAndFinish(line, exchanged, done);
  }
#pragma unroll 1
  while (line.hasOutputs()) {
    double done[2];
    line.next(done);
    exchangeAndFinish(line, exchanged, done);
  }
  addBlocks(line.value(), sums);
}

bool inPairs(const Plan& plan, const double* coefficients, const double* gradient)
{
  const auto even = [](const double* at) { return reinterpret_cast<std::uintptr_t>(at) % (2 * sizeof(double)) == 0; };
  return plan.axes[0].points % 2 == 0 && even(coefficients) && even(gradient);
}

}

template <int D>
void ExactBendingEnergy<D>::evaluateOnCuda(Context& context, std::span<const double> coefficients, std::span<double> gradient,
                                           double* valueOnDevice)
{
  const cudaStream_t stream = cudaStreamOf(context);
  if (bandsOnCuda_.size() == 0) {
    bandsOnCuda_.fromHost(context, tableOf<D>(bands_));
    blocksDone_.fromHost(context, std::vector<unsigned>{0});
  }
  const Plan plan = planOf<D>(bands_, bandsOnCuda_.span().data());
  const int blocks = blocksOf(plan);
  if (sumsOnCuda_.size() == 0)
    sumsOnCuda_ = Buffer<double>(context, blocks);
  const BlockSums sums{sumsOnCuda_.span().data(), blocksDone_.span().data(), valueOnDevice};
  double* const to = gradient.empty() ? nullptr : gradient.data();
  const auto kernel = inPairs(plan, coefficients.data(), to) ? bendingEnergy<true> : bendingEnergy<false>;
  kernel<<<blocks, threads, 0, stream>>>(plan, coefficients.data(), to, sums);
  checkLaunch("exact bending energy");
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>, double*);

}
