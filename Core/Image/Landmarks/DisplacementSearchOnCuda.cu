#include "Core/Image/Landmarks/DisplacementSearchOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threadsOfBlock = 256;

/// A block for each keypoint and some of its displacements.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    costsOf(const DescriptorOnCuda here, const DescriptorOnCuda there, const Voxel* keypoints,
            const Voxel* startsThere, const DisplacementGrid grid, const int radius, const int displacements,
            const float scale, float* costs)
{
  extern __shared__ std::uint32_t patch[];
  const int side = 2 * radius + 1;
  for (int task = threadIdx.x; task < side * side * side; task += Threads)
    displacementsearch::loadPatchVoxel(here, keypoints[blockIdx.x], radius, task, patch);
  __syncthreads();
  const Voxel start = startsThere[blockIdx.x];
  for (int task = blockIdx.y * Threads + threadIdx.x; task < displacements; task += gridDim.y * Threads)
    costs[static_cast<std::size_t>(blockIdx.x) * displacements + task] =
        displacementsearch::costOf(there, start, grid, radius, scale, task, patch);
}

}

void searchCostsOnCuda(const Context& context, const DescriptorOnCuda& here, const DescriptorOnCuda& there,
                       std::span<const Voxel> keypoints, std::span<const Voxel> startsThere,
                       const DisplacementGrid& grid, int patchRadius, float* costs)
{
  if (keypoints.empty())
    return;
  const int side = 2 * patchRadius + 1;
  const float scale = 1
                      / (255.0f * 255.0f * static_cast<float>(SelfSimilarityDescriptor<3>::channels)
                         * static_cast<float>(side * side * side));
  const std::size_t perKeypoint = grid.count(), bytes = sizeof(std::uint32_t) * displacementsearch::words
                                                        * static_cast<std::size_t>(side * side * side);
  Buffer<Voxel> middles, starts;
  middles.fromHost(context, keypoints);
  starts.fromHost(context, startsThere);
  const auto parts = static_cast<unsigned>(std::min<std::size_t>(ceilDiv(perKeypoint, std::size_t{1024}), 8));
  costsOf<threadsOfBlock><<<dim3(static_cast<unsigned>(keypoints.size()), parts), threadsOfBlock, bytes,
                            cudaStreamOf(context)>>>(here, there, middles.span().data(), starts.span().data(),
                                                     grid, patchRadius, static_cast<int>(perKeypoint), scale,
                                                     costs);
  checkLaunch("search for displacements");
}

}
