#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Performance/BlockThreads.h"
#include "Core/Compute/Performance/LaunchShape.cuh"

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

/// A warp finds its first task once in each step, and waits.
KernelCost headOfStep()
{
  KernelCost head;
  head.issueSlots = 18;
  head.integer = 6;
  head.fp32 = 4;
  head.special = 2;
  head.barriers = 1;
  head.chain = {{LatencyClass::cycle, 60}, {LatencyClass::barrier, 1}};
  return head;
}

/// A voxel of a lane: 10 loads of 16 bytes, 32 apart, wait together; 28 products are added for each of 5
/// voxels.
KernelCost costOfSumAlongZ()
{
  constexpr double loads = 2 * partVoxels(2);
  KernelCost cost;
  cost.issueSlots = 456;
  cost.fp32 = 313;
  cost.integer = 99;
  cost.globalInstructions = loads;
  cost.l1Wavefronts = 8 * loads;
  cost.l2Sectors = 32 * partVoxels(2);
  cost.sharedInstructions = cost.sharedWavefronts = entryCount;
  cost.chain = {{LatencyClass::cycle, 683}, {LatencyClass::l2, loads, loads}};
  return cost;
}

/// A line of so many sums of a lane. Those along y have numbers that lie apart, whose addresses are computed.
KernelCost costOfSumLine(double count, bool isAlongY)
{
  KernelCost cost;
  cost.issueSlots = isAlongY ? 90 + 9.3 * count : 62 + 5.6 * count;
  cost.fp32 = (isAlongY ? 17 : 9) + 3 * count;
  cost.integer = isAlongY ? 51 + 4.1 * count : 23 + count;
  cost.special = isAlongY ? 3 : 0;
  cost.sharedInstructions = 7 + 2 * count;
  cost.sharedWavefronts =
      (isAlongY ? 1.8 : 1) * cost.sharedInstructions; // columns of two entries meet in banks
  cost.chain = {{LatencyClass::cycle, isAlongY ? 330 + 18 * count : 200 + 11 * count},
                {LatencyClass::shared, 2 + count / 8}};
  return cost;
}

/// A place of a lane. Rows of places are shorter than those of the window, so that two lanes meet in a bank.
KernelCost costOfFactor()
{
  KernelCost cost;
  cost.issueSlots = 414;
  cost.fp32 = 202;
  cost.integer = 97;
  cost.special = 14;
  cost.sharedInstructions = 2 * entryCount;
  cost.sharedWavefronts = 2 * cost.sharedInstructions;
  cost.chain = {{LatencyClass::cycle, 1330}, {LatencyClass::special, 14}, {LatencyClass::shared, 8}};
  return cost;
}

/// A candidate of a lane: four parts with 28 numbers each, and as many of the landmark, which all lanes
/// share.
KernelCost costOfDistance()
{
  constexpr double numbers = 4 * entryCount;
  KernelCost cost;
  cost.issueSlots = 707;
  cost.fp32 = 358;
  cost.integer = 110;
  cost.special = 6;
  cost.sharedInstructions = 2 * numbers + 2;
  cost.sharedWavefronts = 3 * numbers + 2; // two lanes meet in a bank where a row of candidates ends
  cost.chain = {{LatencyClass::cycle, 1220}, {LatencyClass::shared, numbers / 4}};
  return cost;
}

/// A candidate that is compared with the best one.
KernelCost costOfComparing()
{
  KernelCost cost;
  cost.issueSlots = 70;
  cost.integer = 45;
  cost.fp32 = 8;
  cost.special = 4;
  cost.sharedInstructions = cost.sharedWavefronts = 1;
  cost.chain = {{LatencyClass::cycle, 250}, {LatencyClass::shared, 1}, {LatencyClass::special, 4}};
  return cost;
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

KernelLaunch searchLaunch(std::size_t landmarks, const Window& window, double voxels)
{
  const int threads = searchThreads();
  const auto addStep = [&](std::vector<KernelCost>& steps, double times, double tasks,
                           const KernelCost& task) {
    steps.push_back(KernelCost().add(times, sharedTasks(tasks, threads, headOfStep(), task)));
  };
  std::vector<KernelCost> steps;
  const auto addFactors = [&](double times, const Window& of) {
    addStep(steps, times, of.voxels(0) * of.voxels(1), costOfSumAlongZ());
    addStep(steps, times, entryCount * of.voxels(1), costOfSumLine(of.places(0), false));
    addStep(steps, times, entryCount * of.places(0), costOfSumLine(of.places(1), true));
    addStep(steps, times, of.places(0) * of.places(1), costOfFactor());
  };
  addFactors(2, Window{{0, 0, 0}});
  addFactors(window.places(2), window);
  // In the first and the last slices only one half of a patch begins.
  const double ofSlice = window.candidates(0) * window.candidates(1);
  addStep(steps, window.candidates(2) - partStep(2), 2 * ofSlice, costOfDistance());
  addStep(steps, 2 * partStep(2), ofSlice, costOfDistance());
  addStep(steps, 1, window.candidateCount(), costOfComparing());
  constexpr double bytesAVoxel = 8 * sizeof(float);
  const double ofWindow = bytesAVoxel * window.voxels(0) * window.voxels(1) * window.voxels(2),
               ofImage = bytesAVoxel * voxels / static_cast<double>(landmarks);
  const std::size_t shared = BlockMemory::numbers(window) * sizeof(float);
  const LaunchShape shape = shapeOf(search, static_cast<double>(landmarks), threads, shared);
  // The L2 cache holds what the windows of neighbouring landmarks share.
  steps.front().dramReadBytes = std::min(ofWindow, ofImage) / shape.warpsABlock();
  return {"sest", steps, shape};
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
