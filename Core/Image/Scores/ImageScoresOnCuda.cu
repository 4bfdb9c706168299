#include "Core/Image/Scores/ImageScoresOnCuda.h"

#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threads = 256;
constexpr std::size_t maxBlocks = 1024;

__device__ float extremeOfBlock(float value, bool isLargest)
{
  __shared__ float ofWarps[threads / 32];
  const auto better = [&](float a, float b) { return isLargest ? fmaxf(a, b) : fminf(a, b); };
  for (int offset = 16; offset > 0; offset /= 2)
    value = better(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    ofWarps[threadIdx.x / 32] = value;
  __syncthreads();
  for (const float other : ofWarps)
    value = better(value, other);
  return value;
}

/// Calls body(a, b) for each voxel that counts and belongs to this thread.
template <class Body>
__device__ void forEachVoxel(const ImagePairOnCuda& images, std::size_t voxels, const Body& body)
{
  for (std::size_t v = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; v < voxels;
       v += static_cast<std::size_t>(gridDim.x) * threads)
    if (images.use == nullptr || images.use[v] != 0)
      body(images.a[v], images.b[v]);
}

__device__ void writeSums(const double (&values)[ScoreSums::count], ScoreSums* out)
{
  for (int n = 0; n < ScoreSums::count; ++n) {
    const double sum = blockSum<threads>(values[n]);
    if (threadIdx.x == 0)
      out[blockIdx.x].values[n] = sum;
  }
}

__global__ void __launch_bounds__(threads)
    extremesOf(const ImagePairOnCuda images, const std::size_t voxels, ScoreSums* out)
{
  double sums[ScoreSums::count]{};
  float least[2]{HUGE_VALF, HUGE_VALF}, largest[2]{-HUGE_VALF, -HUGE_VALF};
  forEachVoxel(images, voxels, [&](float a, float b) {
    sums[0] += 1;
    sums[1] += a;
    sums[2] += b;
    least[0] = fminf(least[0], a);
    least[1] = fminf(least[1], b);
    largest[0] = fmaxf(largest[0], a);
    largest[1] = fmaxf(largest[1], b);
  });
  writeSums(sums, out);
  for (int k = 0; k < 2; ++k) {
    const float low = extremeOfBlock(least[k], false), high = extremeOfBlock(largest[k], true);
    if (threadIdx.x == 0) {
      out[blockIdx.x].least[k] = low;
      out[blockIdx.x].largest[k] = high;
    }
  }
}

__global__ void __launch_bounds__(threads) momentsOf(const ImagePairOnCuda images, const std::size_t voxels,
                                                     const double meanA, const double meanB, ScoreSums* out)
{
  double sums[ScoreSums::count]{};
  forEachVoxel(images, voxels, [&](float a, float b) {
    const double x = a - meanA, y = b - meanB, error = static_cast<double>(a) - b;
    sums[0] = fma(x, x, sums[0]);
    sums[1] = fma(y, y, sums[1]);
    sums[2] = fma(x, y, sums[2]);
    sums[3] += fabs(error);
    sums[4] = fma(error, error, sums[4]);
  });
  writeSums(sums, out);
}

__global__ void __launch_bounds__(threads)
    standardsOf(const ImagePairOnCuda images, const std::size_t voxels, const double meanA,
                const double meanB, const double scaleA, const double scaleB, ScoreSums* out)
{
  double sums[ScoreSums::count]{};
  forEachVoxel(images, voxels, [&](float a, float b) {
    const double error = (a - meanA) * scaleA - (b - meanB) * scaleB;
    sums[0] += fabs(error);
    sums[1] = fma(error, error, sums[1]);
  });
  writeSums(sums, out);
}

__global__ void __launch_bounds__(threads)
    countBins(const ImagePairOnCuda images, const std::size_t voxels, const float leastA, const float leastB,
              const double binsA, const double binsB, std::uint32_t* counts)
{
  constexpr int bins = scoreHistogramBins;
  __shared__ std::uint32_t own[bins * bins];
  for (int i = threadIdx.x; i < bins * bins; i += threads)
    own[i] = 0;
  __syncthreads();
  forEachVoxel(images, voxels, [&](float a, float b) {
    atomicAdd(own + bins * similarity::binOf(b, leastB, binsB, bins)
                  + similarity::binOf(a, leastA, binsA, bins),
              1u);
  });
  __syncthreads();
  for (int i = threadIdx.x; i < bins * bins; i += threads)
    if (own[i] != 0)
      atomicAdd(counts + i, own[i]);
}

constexpr int tileX = 32, tileY = 8, slicesOfBlock = 32; // of windows
constexpr int wideX = tileX + similarity::taps - 1, wideY = tileY + similarity::taps - 1;

/// A block finds the windows of tileX x tileY columns of voxels. It goes through slices, filters each along x
/// and y in shared memory, and adds it to the sums of the windows that it belongs to, which are in registers.
template <int TapsZ>
__global__ void __launch_bounds__(threads)
    similaritiesOf(const ImagePairOnCuda images, const similarity::Window window, const double c1,
                   const double c2, double* sums, double* windows)
{
  using namespace similarity;
  static_assert(tileX * tileY == threads);
  __shared__ float tileA[wideY][wideX], tileB[wideY][wideX];
  __shared__ double alongX[similarity::sums][wideY][tileX];
  const int width = static_cast<int>(images.size[0]), height = static_cast<int>(images.size[1]),
            depth = static_cast<int>(images.size[2]), left = blockIdx.x * tileX, top = blockIdx.y * tileY,
            firstSlice = blockIdx.z * slicesOfBlock,
            lastSlice = min(firstSlice + slicesOfBlock + TapsZ - 1, depth), x = threadIdx.x % tileX,
            y = threadIdx.x / tileX;
  const bool isInside = left + x + 2 * radius < width && top + y + 2 * radius < height;
  double open[TapsZ][similarity::sums]{}; // of the window that ends in this slice, in the next, ...
  double sum = 0, count = 0;
  for (int z = firstSlice; z < lastSlice; ++z) {
    const std::size_t slice = static_cast<std::size_t>(z) * height;
    for (int i = threadIdx.x; i < wideX * wideY; i += threads) {
      const int column = i % wideX, row = i / wideX;
      const bool isThere = left + column < width && top + row < height;
      const std::size_t voxel = (slice + top + row) * width + left + column;
      tileA[row][column] = isThere ? images.a[voxel] : 0;
      tileB[row][column] = isThere ? images.b[voxel] : 0;
    }
    __syncthreads();
    for (int row = y; row < wideY; row += tileY) {
      double filtered[similarity::sums]{};
#pragma unroll
      for (int t = 0; t < taps; ++t) {
        const double a = tileA[row][x + t], b = tileB[row][x + t], wa = window.weights[t] * a,
                     wb = window.weights[t] * b;
        filtered[0] += wa;
        filtered[1] += wb;
        filtered[2] = fma(wa, a, filtered[2]);
        filtered[3] = fma(wb, b, filtered[3]);
        filtered[4] = fma(wa, b, filtered[4]);
      }
      for (int s = 0; s < similarity::sums; ++s)
        alongX[s][row][x] = filtered[s];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < similarity::sums; ++s) {
      double filtered = 0;
#pragma unroll
      for (int t = 0; t < taps; ++t)
        filtered = fma(window.weights[t], alongX[s][y + t][x], filtered);
#pragma unroll
      for (int k = 0; k < TapsZ; ++k)
        open[k][s] = TapsZ == 1 ? filtered : fma(window.weights[TapsZ - 1 - k], filtered, open[k][s]);
    }
    const std::size_t voxel =
        ((slice - static_cast<std::size_t>(TapsZ / 2) * height) + top + y + radius) * width + left + x
        + radius;
    if (z - firstSlice >= TapsZ - 1 && isInside && (images.use == nullptr || images.use[voxel] != 0)) {
      sum += ofMeans(open[0], c1, c2);
      count += 1;
    }
#pragma unroll
    for (int k = 0; k < TapsZ; ++k)
#pragma unroll
      for (int s = 0; s < similarity::sums; ++s)
        open[k][s] = k + 1 < TapsZ ? open[k + 1][s] : 0;
  }
  sum = blockSum<threads>(sum);
  count = blockSum<threads>(count);
  if (threadIdx.x == 0) {
    const std::size_t block =
        blockIdx.x + static_cast<std::size_t>(gridDim.x) * (blockIdx.y + gridDim.y * blockIdx.z);
    sums[block] = sum;
    windows[block] = count;
  }
}

std::size_t voxelsOf(const ImagePairOnCuda& images)
{
  return images.size[0] * images.size[1] * images.size[2];
}

unsigned blocksFor(const ImagePairOnCuda& images)
{
  return static_cast<unsigned>(std::min(ceilDiv(voxelsOf(images), std::size_t{threads}), maxBlocks));
}

/// Adds up the sums of blocks, in their order, which launch(blocks, sums) computes.
template <class Launch>
ScoreSums sumsBy(const Context& context, const ImagePairOnCuda& images, const Launch& launch)
{
  const unsigned blocks = blocksFor(images);
  Buffer<ScoreSums> ofBlocks;
  ofBlocks.fromHost(context, std::vector<ScoreSums>(blocks));
  launch(blocks, ofBlocks.span().data());
  checkLaunch("scores of images");
  ScoreSums all;
  for (const ScoreSums& sums : ofBlocks.toHost(context))
    all.add(sums);
  return all;
}

}

ScoreSums scoreExtremesOnCuda(const Context& context, const ImagePairOnCuda& images)
{
  return sumsBy(context, images, [&](unsigned blocks, ScoreSums* sums) {
    extremesOf<<<blocks, threads, 0, cudaStreamOf(context)>>>(images, voxelsOf(images), sums);
  });
}

ScoreSums scoreMomentsOnCuda(const Context& context, const ImagePairOnCuda& images,
                             const std::array<double, 2>& mean)
{
  return sumsBy(context, images, [&](unsigned blocks, ScoreSums* sums) {
    momentsOf<<<blocks, threads, 0, cudaStreamOf(context)>>>(images, voxelsOf(images), mean[0], mean[1],
                                                             sums);
  });
}

ScoreSums standardScoresOnCuda(const Context& context, const ImagePairOnCuda& images,
                               const std::array<double, 2>& mean, const std::array<double, 2>& scale)
{
  return sumsBy(context, images, [&](unsigned blocks, ScoreSums* sums) {
    standardsOf<<<blocks, threads, 0, cudaStreamOf(context)>>>(images, voxelsOf(images), mean[0], mean[1],
                                                               scale[0], scale[1], sums);
  });
}

std::vector<std::uint32_t> scoreHistogramOnCuda(const Context& context, const ImagePairOnCuda& images,
                                                const std::array<float, 2>& least,
                                                const std::array<double, 2>& binsAValue)
{
  Buffer<std::uint32_t> counts(context, std::size_t{scoreHistogramBins} * scoreHistogramBins);
  context.stream->fill(counts.span().data(), 0, counts.size() * sizeof(std::uint32_t));
  countBins<<<blocksFor(images), threads, 0, cudaStreamOf(context)>>>(
      images, voxelsOf(images), least[0], least[1], binsAValue[0], binsAValue[1], counts.span().data());
  checkLaunch("scores of images");
  return counts.toHost(context);
}

std::array<double, 2> similaritySumsOnCuda(const Context& context, const ImagePairOnCuda& images,
                                           const similarity::Window& window, double c1, double c2)
{
  const bool isFlat = images.size[2] == 1;
  const auto inner = [&](std::size_t axis) { return images.size[axis] - similarity::taps + 1; };
  const dim3 blocks(static_cast<unsigned>(ceilDiv(inner(0), std::size_t{tileX})),
                    static_cast<unsigned>(ceilDiv(inner(1), std::size_t{tileY})),
                    isFlat ? 1u : static_cast<unsigned>(ceilDiv(inner(2), std::size_t{slicesOfBlock})));
  const std::size_t count = static_cast<std::size_t>(blocks.x) * blocks.y * blocks.z;
  Buffer<double> sums(context, count), windows(context, count);
  const auto launch = [&](auto* kernel) {
    kernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(images, window, c1, c2, sums.span().data(),
                                                          windows.span().data());
  };
  isFlat ? launch(similaritiesOf<1>) : launch(similaritiesOf<similarity::taps>);
  checkLaunch("structural similarity");
  std::array<double, 2> all{};
  for (const double sum : sums.toHost(context))
    all[0] += sum;
  for (const double number : windows.toHost(context))
    all[1] += number;
  return all;
}

}
