#include "Tools/Bench/Model/LandmarkSum.h"

#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int maxThreads = 1024;

template <bool InShared>
__global__ void __launch_bounds__(maxThreads)
    landmarkSum(int nx, int ny, int nz, int landmarks, const float4* __restrict__ places,
                const float4* __restrict__ vectors, float* __restrict__ toX, float* __restrict__ toY,
                float* __restrict__ toZ)
{
  extern __shared__ float4 held[];
  if constexpr (InShared) {
    for (int i = threadIdx.x; i < landmarks; i += blockDim.x) {
      held[2 * i] = places[i];
      held[2 * i + 1] = vectors[i];
    }
    __syncthreads();
  }
  const unsigned v = blockIdx.x * blockDim.x + threadIdx.x, row = v / nx;
  if (row >= static_cast<unsigned>(ny) * nz)
    return;
  const auto x = static_cast<float>(v - row * nx), y = static_cast<float>(row % ny),
             z = static_cast<float>(row / ny);
  float sum[3] = {};
#pragma unroll 4
  for (int i = 0; i < landmarks; ++i) {
    const float4 place = InShared ? held[2 * i] : places[i], vector = InShared ? held[2 * i + 1] : vectors[i];
    const float dx = place.x - x, dy = place.y - y, dz = place.z - z;
    const float distance = __fsqrt_rn(fmaf(dx, dx, fmaf(dy, dy, dz * dz)));
    sum[0] = fmaf(vector.x, distance, sum[0]);
    sum[1] = fmaf(vector.y, distance, sum[1]);
    sum[2] = fmaf(vector.z, distance, sum[2]);
  }
  toX[v] = sum[0];
  toY[v] = sum[1];
  toZ[v] = sum[2];
}

std::size_t sharedBytesOf(int landmarks, bool inShared)
{
  return inShared ? 2 * sizeof(float4) * landmarks : 0;
}

int blockThreads()
{
  return std::clamp(BlockThreads::orUsual(256), 32, maxThreads);
}

}

void landmarkSumOnCuda(const Context& context, const std::array<int, 3>& size, int landmarks,
                       const float* places, const float* vectors, bool inShared,
                       const std::array<float*, 3>& to)
{
  const int threads = blockThreads();
  const unsigned voxels = static_cast<unsigned>(size[0]) * size[1] * size[2];
  const auto kernel = inShared ? landmarkSum<true> : landmarkSum<false>;
  kernel<<<ceilDiv<unsigned>(voxels, threads), threads, sharedBytesOf(landmarks, inShared),
           cudaStreamOf(context)>>>(size[0], size[1], size[2], landmarks,
                                    reinterpret_cast<const float4*>(places),
                                    reinterpret_cast<const float4*>(vectors), to[0], to[1], to[2]);
  checkLaunch("a sum over landmarks");
}

/// A landmark takes 23 instructions, of which 13 are sums and products and two are loads of 16 bytes that all
/// lanes share; the root's slow path is left out. 80 begin and end a thread. With shared memory a thread
/// first copies a landmark by 10 instructions, until all are there.
KernelLaunch landmarkSumLaunch(const std::array<int, 3>& size, int landmarks, bool inShared)
{
  constexpr double warpBytes = 128, loads = 2;
  KernelCost landmark;
  landmark.issueSlots = 23;
  landmark.fp32 = 13;
  landmark.special = 1;
  landmark.integer = 3.5;
  (inShared ? landmark.sharedInstructions : landmark.globalInstructions) = loads;
  (inShared ? landmark.sharedWavefronts : landmark.l1Wavefronts) = loads;
  landmark.chain = {{LatencyClass::cycle, 60},
                    {LatencyClass::special, 1},
                    {inShared ? LatencyClass::shared : LatencyClass::l1, loads, loads}};
  KernelCost sum;
  sum.issueSlots = 80;
  sum.fp32 = 16;
  sum.integer = 30;
  sum.special = 7;
  sum.globalInstructions = sum.l1Wavefronts = 3;
  sum.l2Sectors = 3 * 4;
  sum.dramWrittenBytes = 3 * warpBytes;
  sum.chain = {{LatencyClass::cycle, 220}, {LatencyClass::special, 7}, {LatencyClass::constant, 4}};
  sum.add(landmarks, landmark);
  const double blocks = std::ceil(1.0 * size[0] * size[1] * size[2] / blockThreads());
  const char* const name = inShared ? "sharedlandmarks" : "globallandmarks";
  const LaunchShape shape = shapeOf(inShared ? landmarkSum<true> : landmarkSum<false>, blocks, blockThreads(),
                                    sharedBytesOf(landmarks, inShared));
  if (!inShared)
    return {name, {sum}, shape};
  KernelCost begin, copy;
  begin.issueSlots = 20;
  begin.barriers = 1;
  begin.chain = {{LatencyClass::cycle, 60}, {LatencyClass::barrier, 1}};
  copy.issueSlots = 10;
  copy.integer = 4;
  copy.globalInstructions = copy.sharedInstructions = loads;
  copy.l1Wavefronts = copy.sharedWavefronts = loads * 4;
  copy.l2Sectors = loads * 16;
  copy.chain = {{LatencyClass::cycle, 30}, {LatencyClass::l2, loads, loads}};
  return {name, {sharedTasks(landmarks, blockThreads(), begin, copy), sum}, shape};
}

}
