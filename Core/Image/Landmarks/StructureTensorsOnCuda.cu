#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"

#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>

namespace tessera::structuretensors {
namespace {

constexpr int threadsOfFeatures = 256;
constexpr int maxSearchThreads = 288; // so that few threads idle in any step for the window of 25x13x17

__global__ void __launch_bounds__(threadsOfFeatures)
    featuresOf(const int3 size, const float* smoothed, const float* mean, FourFloats* features)
{
  const std::size_t voxel = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int x = static_cast<int>(voxel % size.x), y = static_cast<int>(voxel / size.x % size.y),
            z = static_cast<int>(voxel / size.x / size.y);
  if (z >= size.z)
    return;
  const auto at = [&](int dx, int dy, int dz) {
    const int nearX = min(max(x + dx, 0), size.x - 1), nearY = min(max(y + dy, 0), size.y - 1),
              nearZ = min(max(z + dz, 0), size.z - 1);
    return __ldg(smoothed + nearX
                 + static_cast<std::size_t>(size.x) * (nearY + static_cast<std::size_t>(size.y) * nearZ));
  };
  float f[featureCount];
  computeFeatures<float>(at, mean[voxel], f);
  features[2 * voxel] = {f[0], f[1], f[2], f[3]};
  features[2 * voxel + 1] = {f[4], f[5], f[6], 0};
}

__device__ Best bestOfLanes(Best best)
{
  for (int offset = 16; offset > 0; offset /= 2) {
    const Best other{__shfl_down_sync(~0u, best.distance, offset),
                     __shfl_down_sync(~0u, best.squaredVoxels, offset),
                     __shfl_down_sync(~0u, best.number, offset)};
    if (other.number >= 0 && other.isBetterThan(best))
      best = other;
  }
  return best;
}

/// A block for each landmark.
__global__ void __launch_bounds__(maxSearchThreads, 2)
    search(const FeatureImage here, const FeatureImage there, const Voxel* keypoints,
           const Voxel* startsThere, const Window window, Found* found)
{
  extern __shared__ float shared[];
  __shared__ Best ofWarps[maxSearchThreads / 32];
  const BlockMemory memory(window, shared);
  const auto forEach = [](int count, const auto& body) {
    for (int task = threadIdx.x; task < count; task += blockDim.x)
      body(task);
    __syncthreads();
  };
  computeDistances(forEach, memory, here, there, keypoints[blockIdx.x], startsThere[blockIdx.x]);

  const int count = window.candidateCount();
  Best best;
  for (int number = threadIdx.x; number < count; number += blockDim.x) {
    const Best other = Best::of(window, number, memory.distances[number]);
    if (other.isBetterThan(best))
      best = other;
  }
  best = bestOfLanes(best);
  if (threadIdx.x % 32 == 0)
    ofWarps[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp)
    if (ofWarps[warp].number >= 0 && ofWarps[warp].isBetterThan(best))
      best = ofWarps[warp];
  // without a number to compare it stays in the middle
  found[blockIdx.x] = foundAt(window, best.number < 0 ? count / 2 : best.number, memory.distances);
}

int searchThreads()
{
  return std::clamp(BlockThreads::orUsual(maxSearchThreads), 32, maxSearchThreads) / 32 * 32;
}

}

void computeFeaturesOnCuda(const Context& context, const Size<3>& size, const float* smoothed,
                           const float* mean, float* features)
{
  const std::size_t voxels = size[0] * size[1] * size[2];
  const int3 extent{static_cast<int>(size[0]), static_cast<int>(size[1]), static_cast<int>(size[2])};
  featuresOf<<<static_cast<unsigned>(ceilDiv(voxels, std::size_t{threadsOfFeatures})), threadsOfFeatures, 0,
               cudaStreamOf(context)>>>(extent, smoothed, mean, reinterpret_cast<FourFloats*>(features));
  checkLaunch("features of structure tensors");
}

LaunchShape searchShape(std::size_t landmarks, const Window& window)
{
  return shapeOf(search, static_cast<double>(landmarks), searchThreads(),
                 BlockMemory::numbers(window) * sizeof(float));
}

std::size_t sharedBytesOfBlock(const Context& context)
{
  int bytes = 0;
  checkCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device.ordinal),
            "shared memory of a device");
  return static_cast<std::size_t>(bytes);
}

void enqueueSearch(const Context& context, const FeatureImage& here, const FeatureImage& there,
                   std::size_t count, const Voxel* keypoints, const Voxel* startsThere, const Window& window,
                   Found* found)
{
  const std::size_t bytes = BlockMemory::numbers(window) * sizeof(float);
  checkCuda(
      cudaFuncSetAttribute(search, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "search of structure tensors");
  search<<<static_cast<unsigned>(count), searchThreads(), bytes, cudaStreamOf(context)>>>(
      here, there, keypoints, startsThere, window, found);
  checkLaunch("search of structure tensors");
}

void searchOnCuda(const Context& context, const FeatureImage& here, const FeatureImage& there,
                  std::span<const Voxel> keypoints, std::span<const Voxel> startsThere, const Window& window,
                  std::span<Found> found)
{
  if (keypoints.empty())
    return;
  Buffer<Voxel> onCuda, starts;
  onCuda.fromHost(context, keypoints);
  starts.fromHost(context, startsThere);
  Buffer<Found> results(context, keypoints.size());
  enqueueSearch(context, here, there, keypoints.size(), onCuda.span().data(), starts.span().data(), window,
                results.span().data());
  std::ranges::copy(results.toHost(context), found.begin());
}

}
