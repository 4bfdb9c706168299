#include "Core/Image/Filters/SelfSimilarityKernels.h"

#include "Core/Compute/Cuda/Reduction.cuh"

#include <algorithm>

namespace tessera::selfsimilarity {
namespace {

constexpr int threads = 256;

template <int D>
__global__ void __launch_bounds__(threads)
    squaresOfPair(const float* __restrict__ voxels, const std::array<int, D> size,
                  const __grid_constant__ NeighbourPair<D> pair, unsigned blocksOfRow,
                  float* __restrict__ squares)
{
  const unsigned row = blockIdx.x / blocksOfRow;
  std::array<int, D> voxel;
  voxel[0] = static_cast<int>((blockIdx.x - row * blocksOfRow) * threads + threadIdx.x);
  if (voxel[0] >= size[0])
    return;
  voxel[1] = static_cast<int>(D == 3 ? row % size[1] : row);
  if constexpr (D == 3)
    voxel[2] = static_cast<int>(row / size[1]);
  squares[static_cast<std::size_t>(row) * size[0] + voxel[0]] = pair.squaredDifference(voxels, size, voxel);
}

template <int D>
__device__ __forceinline__ float takeLeastOf(const float* differences, std::size_t count, std::size_t voxel,
                                             Channels<D>& ofVoxel)
{
#pragma unroll
  for (std::size_t k = 0; k < SelfSimilarityDescriptor<D>::channels; ++k)
    ofVoxel[k] = __ldg(differences + k * count + voxel);
  return takeLeast<D>(ofVoxel);
}

template <int D>
__global__ void __launch_bounds__(threads)
    sumOfVariances(const float* differences, std::size_t count, double* scratch, MeanVariance* mean)
{
  double sum[1] = {};
  for (std::size_t v = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x; v < count;
       v += static_cast<std::size_t>(gridDim.x) * threads) {
    Channels<D> ofVoxel;
    sum[0] += takeLeastOf<D>(differences, count, v, ofVoxel);
  }
  addGridSums(sum, scratch, &mean->blocksDone, mean->sum);
}

template <int D>
__global__ void __launch_bounds__(threads) numbersOfVoxels(const float* differences, std::size_t count,
                                                           const MeanVariance* mean, std::uint32_t* words)
{
  constexpr int wordsOfVoxel = SelfSimilarityDescriptor<D>::channels / 4;
  const std::size_t voxel = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  if (voxel >= count)
    return;
  Channels<D> ofVoxel;
  const Variances variances(mean->sum[0] / static_cast<double>(count));
  const float variance = variances.clamped(takeLeastOf<D>(differences, count, voxel, ofVoxel));
#pragma unroll
  for (int w = 0; w < wordsOfVoxel; ++w) {
    std::uint32_t word = 0;
#pragma unroll
    for (int byte = 0; byte < 4; ++byte)
      word |= static_cast<std::uint32_t>(number(ofVoxel[4 * w + byte], variance)) << 8 * byte;
    words[wordsOfVoxel * voxel + w] = word;
  }
}

}

template <int D>
void squaredDifferences(Context& context, const float* voxels, const std::array<int, D>& size,
                        const NeighbourPair<D>& pair, float* squares)
{
  const auto blocksOfRow = static_cast<unsigned>(ceilDiv(size[0], threads));
  const unsigned rows = static_cast<unsigned>(size[1]) * static_cast<unsigned>(D == 3 ? size[D - 1] : 1);
  squaresOfPair<D>
      <<<rows * blocksOfRow, threads, 0, cudaStreamOf(context)>>>(voxels, size, pair, blocksOfRow, squares);
  checkLaunch("differences of neighbours");
}

template <int D>
void sumVariances(Context& context, const float* differences, std::size_t count, double* scratch,
                  MeanVariance* mean)
{
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>(ceilDiv<std::size_t>(count, threads), maxBlocksOfMean));
  sumOfVariances<D><<<blocks, threads, 0, cudaStreamOf(context)>>>(differences, count, scratch, mean);
  checkLaunch("mean of self-similarities");
}

template <int D>
void writeNumbers(Context& context, const float* differences, std::size_t count, const MeanVariance* mean,
                  std::uint8_t* numbers)
{
  numbersOfVoxels<D>
      <<<static_cast<unsigned>(ceilDiv<std::size_t>(count, threads)), threads, 0, cudaStreamOf(context)>>>(
          differences, count, mean, reinterpret_cast<std::uint32_t*>(numbers));
  checkLaunch("self-similarities");
}

TESSERA_INSTANTIATE_FUNCTIONS(squaredDifferences<D>, sumVariances<D>, writeNumbers<D>);

}
