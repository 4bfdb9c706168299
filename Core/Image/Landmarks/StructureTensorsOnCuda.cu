#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>

namespace tessera::structuretensors {
namespace {

constexpr int threadsOfFeatures = 256;
constexpr int threadsOfSearch = 288; // so that few threads idle in any step for the window of 25x13x17

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
template <int Threads>
__global__ void __launch_bounds__(Threads, 2)
    search(const FeatureImage here, const FeatureImage there, const Voxel* keypoints,
           const Voxel* startsThere, const Window window, Found* found)
{
  extern __shared__ float shared[];
  __shared__ Best ofWarps[Threads / 32];
  const BlockMemory memory(window, shared);
  const auto forEach = [](int count, const auto& body) {
    for (int task = threadIdx.x; task < count; task += Threads)
      body(task);
    __syncthreads();
  };
  computeDistances(forEach, memory, here, there, keypoints[blockIdx.x], startsThere[blockIdx.x]);

  const int count = window.candidateCount();
  Best best;
  for (int number = threadIdx.x; number < count; number += Threads) {
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
  for (const Best& other : ofWarps)
    if (other.number >= 0 && other.isBetterThan(best))
      best = other;
  // without a number to compare it stays in the middle
  found[blockIdx.x] = foundAt(window, best.number < 0 ? count / 2 : best.number, memory.distances);
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

std::size_t sharedBytesOfBlock(const Context& context)
{
  int bytes = 0;
  checkCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device.ordinal),
            "shared memory of a device");
  return static_cast<std::size_t>(bytes);
}

void searchOnCuda(const Context& context, const FeatureImage& here, const FeatureImage& there,
                  std::span<const Voxel> keypoints, std::span<const Voxel> startsThere, const Window& window,
                  std::span<Found> found)
{
  if (keypoints.empty())
    return;
  const cudaStream_t stream = cudaStreamOf(context);
  const std::size_t bytes = BlockMemory::numbers(window) * sizeof(float);
  checkCuda(cudaFuncSetAttribute(search<threadsOfSearch>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "search of structure tensors");
  Buffer<Voxel> onCuda, starts;
  onCuda.fromHost(context, keypoints);
  starts.fromHost(context, startsThere);
  Buffer<Found> results(context, keypoints.size());
  search<threadsOfSearch><<<static_cast<unsigned>(keypoints.size()), threadsOfSearch, bytes, stream>>>(
      here, there, onCuda.span().data(), starts.span().data(), window, results.span().data());
  checkLaunch("search of structure tensors");
  std::ranges::copy(results.toHost(context), found.begin());
}

}
