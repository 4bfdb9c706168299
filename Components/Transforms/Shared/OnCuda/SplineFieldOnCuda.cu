#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"

#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int maxThreads = splinefield::mostThreads;

template <SplineKernel Kernel, class Number>
__global__ void __launch_bounds__(maxThreads)
    field(const __grid_constant__ SplineFieldPlan plan, const SplineOfLandmarks<3> spline,
          const std::size_t first, const std::size_t count, const int firstBlock, float* displacements)
{
  extern __shared__ __align__(16) double shared[];
  const auto forEach = [](int tasks, const auto& body) {
    for (int task = threadIdx.x; task < tasks; task += blockDim.x)
      body(task);
    __syncthreads();
  };
  const std::array<int, 3> number{static_cast<int>(blockIdx.x) % plan.blocks(0),
                                  static_cast<int>(blockIdx.x) / plan.blocks(0),
                                  firstBlock + static_cast<int>(blockIdx.y)};
  splinefield::computeBlock<Kernel, Number>(forEach, maxThreads, plan, spline, number, first, count, shared,
                                            displacements);
}

int blockThreads()
{
  return std::clamp(BlockThreads::orUsual(maxThreads), 32, maxThreads) / 32 * 32;
}

template <SplineKernel Kernel, class Number>
void launch(const Context& context, const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
            std::size_t first, std::size_t count, float* displacements)
{
  const std::size_t bytes = splinefield::BlockMemory<Number>::bytes(spline.count, plan.nodes, maxThreads);
  const auto kernel = field<Kernel, Number>;
  checkCuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "field of a spline of landmarks");
  const int firstBlock = static_cast<int>(first) / SplineFieldPlan::blockVoxels,
            endBlock = static_cast<int>(first + count - 1) / SplineFieldPlan::blockVoxels + 1;
  kernel<<<dim3(static_cast<unsigned>(plan.blocks(0) * plan.blocks(1)),
                static_cast<unsigned>(endBlock - firstBlock)),
           blockThreads(), bytes, cudaStreamOf(context)>>>(plan, spline, first, count, firstBlock,
                                                           displacements);
  checkLaunch("field of a spline of landmarks");
}

}

LaunchShape splineFieldShape(const SplineFieldPlan& plan, int landmarks)
{
  return shapeOf(field<SplineKernel::thinPlate, float>,
                 1.0 * plan.blocks(0) * plan.blocks(1) * plan.blocks(2), blockThreads(),
                 splinefield::BlockMemory<float>::bytes(landmarks, plan.nodes, maxThreads));
}

void splineFieldOnCuda(const Context& context, const SplineFieldPlan& plan,
                       const SplineOfLandmarks<3>& spline, std::size_t first, std::size_t count,
                       float* displacements)
{
  if (count == 0 || plan.size[0] == 0 || plan.size[1] == 0)
    return;
  if (plan.isSingle)
    return launch<SplineKernel::thinPlate, float>(context, plan, spline, first, count, displacements);
  withKernel<3>(spline.kernel, [&](auto kernel) {
    launch<decltype(kernel)::value, double>(context, plan, spline, first, count, displacements);
  });
}

}
