#include "Tools/Bench/Model/TrilinearFromField.h"

#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int maxThreads = 1024;

__global__ void __launch_bounds__(maxThreads)
    trilinear(int nx, int ny, int nz, const float* __restrict__ image, const float* __restrict__ ux,
              const float* __restrict__ uy, const float* __restrict__ uz, float* __restrict__ to)
{
  const unsigned v = blockIdx.x * blockDim.x + threadIdx.x, row = v / nx;
  if (row >= static_cast<unsigned>(ny) * nz)
    return;
  const float place[3] = {static_cast<float>(v - row * nx) + ux[v], static_cast<float>(row % ny) + uy[v],
                          static_cast<float>(row / ny) + uz[v]};
  const int size[3] = {nx, ny, nz};
  int first[3];
  float fraction[3];
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const float inside = fminf(fmaxf(place[d], 0.0f), static_cast<float>(size[d] - 1));
    first[d] = min(static_cast<int>(inside), size[d] - 2);
    fraction[d] = inside - static_cast<float>(first[d]);
  }
  const float* const cell = image + (first[2] * ny + first[1]) * nx + first[0];
  const auto between = [](float a, float b, float t) { return fmaf(t, b - a, a); };
  float planes[2];
#pragma unroll
  for (int z = 0; z < 2; ++z) {
    const float* const plane = cell + z * nx * ny;
    planes[z] = between(between(plane[0], plane[1], fraction[0]),
                        between(plane[nx], plane[nx + 1], fraction[0]), fraction[1]);
  }
  to[v] = between(planes[0], planes[1], fraction[2]);
}

__device__ unsigned hash(unsigned x)
{
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

template <class T>
__global__ void noise(std::size_t count, T lowest, T highest, T* values)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count)
    values[i] = lowest + (highest - lowest) * static_cast<T>(hash(static_cast<unsigned>(i)) * 0x1p-32);
}

__global__ void wave(int nx, int ny, int nz, int component, float amplitude, float* values)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const auto x = static_cast<float>(i % nx), y = static_cast<float>(i / nx % ny),
             z = static_cast<float>(i / nx / ny);
  if (z < static_cast<float>(nz))
    values[i] = amplitude * sinf(0.031f * x + 0.7f * static_cast<float>(component)) * sinf(0.027f * y)
                * cosf(0.023f * z);
}

constexpr int fillThreads = 256;

__global__ void readAll(std::size_t count, float* values)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count && __ldcg(values + i) == -1.5f) // it is not, and the compiler cannot know
    values[i] = 0;
}

unsigned blocksFor(std::size_t count)
{
  return static_cast<unsigned>(ceilDiv<std::size_t>(count, fillThreads));
}

template <class T>
void fill(const Context& context, std::size_t count, T lowest, T highest, T* values)
{
  noise<<<blocksFor(count), fillThreads, 0, cudaStreamOf(context)>>>(count, lowest, highest, values);
  checkLaunch("filling an array");
}

}

namespace {

int blockThreads()
{
  return std::clamp(BlockThreads::orUsual(256), 32, maxThreads);
}

}

/// 28 instructions find the voxel, 100 its value. The lanes of a warp read neighbouring places: 33 voxels of
/// each of four rows, which lie in two lines of the cache or one.
KernelLaunch trilinearFromFieldLaunch(const std::array<int, 3>& size)
{
  constexpr double rowSectors = 5, warpBytes = 128;
  KernelCost cost;
  cost.issueSlots = 128;
  cost.fp32 = 46;
  cost.special = 9;
  cost.integer = 46;
  cost.globalInstructions = 12;
  cost.l1Wavefronts = 3 + 8 * 2 + 1;
  cost.l2Sectors = 3 * 4 + 4 * rowSectors + 4;
  cost.dramReadBytes = 4 * warpBytes;
  cost.dramWrittenBytes = warpBytes;
  cost.chain = {{LatencyClass::cycle, 212},
                {LatencyClass::special, 5},
                {LatencyClass::constant, 2},
                {LatencyClass::dram, 3, 3},
                {LatencyClass::dram, 8, 8}};
  const double voxels = 1.0 * size[0] * size[1] * size[2];
  return {"trilinear", {cost}, shapeOf(trilinear, std::ceil(voxels / blockThreads()), blockThreads())};
}

void trilinearFromFieldOnCuda(const Context& context, const std::array<int, 3>& size, const float* image,
                              const std::array<const float*, 3>& field, float* to)
{
  const int threads = blockThreads();
  const unsigned voxels = static_cast<unsigned>(size[0]) * size[1] * size[2];
  trilinear<<<ceilDiv<unsigned>(voxels, threads), threads, 0, cudaStreamOf(context)>>>(
      size[0], size[1], size[2], image, field[0], field[1], field[2], to);
  checkLaunch("trilinear interpolation from a field");
}

void readAllOnCuda(const Context& context, std::size_t count, float* values)
{
  readAll<<<blocksFor(count), fillThreads, 0, cudaStreamOf(context)>>>(count, values);
  checkLaunch("reading an array");
}

void fillWithNoise(const Context& context, std::size_t count, float lowest, float highest, float* values)
{
  fill(context, count, lowest, highest, values);
}

void fillWithNoise(const Context& context, std::size_t count, double lowest, double highest, double* values)
{
  fill(context, count, lowest, highest, values);
}

void fillWithWave(const Context& context, const std::array<int, 3>& size, int component, float amplitude,
                  float* values)
{
  const std::size_t count = static_cast<std::size_t>(size[0]) * size[1] * size[2];
  wave<<<blocksFor(count), fillThreads, 0, cudaStreamOf(context)>>>(size[0], size[1], size[2], component,
                                                                    amplitude, values);
  checkLaunch("filling an array");
}

}
