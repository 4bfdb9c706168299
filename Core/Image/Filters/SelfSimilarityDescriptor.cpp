#include "Core/Image/Filters/SelfSimilarityFormula.h"

#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Filters/SelfSimilarityKernels.h"

#include <algorithm>

namespace tessera {
namespace {

using namespace selfsimilarity;

constexpr std::size_t voxelsOfChunk = std::size_t(1) << 16;

template <int D>
std::vector<float> smoothedSquares(Context& context, const Image<D>& image, const NeighbourPair<D>& pair,
                                   const Vec<D>& sigmaVoxels)
{
  const Size<D>& size = image.geometry.size;
  Image<D> squares{image.geometry, std::vector<float>(image.voxels.size())};
  const std::size_t voxelsOfSlice = image.voxels.size() / size[D - 1];
  std::array<int, D> sizes;
  std::ranges::copy(size, sizes.begin());
  forEachChunk(context, size[D - 1], [&](std::size_t slice) {
    std::array<int, D> voxel{};
    voxel[D - 1] = static_cast<int>(slice);
    for (std::size_t v = slice * voxelsOfSlice; v < (slice + 1) * voxelsOfSlice; ++v) {
      squares.voxels[v] = pair.squaredDifference(image.voxels.data(), sizes, voxel);
      for (int d = 0; d + 1 < D && ++voxel[d] == sizes[d]; ++d)
        voxel[d] = 0;
    }
  });
  return smoothRecursively<D>(context, squares, sigmaVoxels).voxels;
}

}

template <int D>
SelfSimilarityDescriptor<D>::SelfSimilarityDescriptor(Context& context, const Image<D>& image,
                                                      const Matrix<D>& steps)
    : size(image.geometry.size)
{
  requireMemory(static_cast<double>(image.voxels.size())
                    * (channels * (sizeof(float) + 1) + 3 * sizeof(float)),
                "self-similarities of " + extentText(size) + " voxels", "a smaller image");
  values.resize(channels * image.voxels.size());
  const Vec<D> sigmaVoxels = sigmaOf<D>(steps);
  std::array<std::vector<float>, channels> differences;
  const auto pairs = neighbourPairs<D>(steps);
  for (std::size_t k = 0; k < channels; ++k)
    differences[k] = smoothedSquares<D>(context, image, pairs[k], sigmaVoxels);

  const std::size_t count = image.voxels.size();
  std::vector<float> mean(count);
  std::vector<double> sums((count + voxelsOfChunk - 1) / voxelsOfChunk, 0.0);
  forEachRange(context, count, voxelsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      Channels<D> channelsOfVoxel;
      for (std::size_t k = 0; k < channels; ++k)
        channelsOfVoxel[k] = differences[k][v];
      mean[v] = takeLeast<D>(channelsOfVoxel);
      for (std::size_t k = 0; k < channels; ++k)
        differences[k][v] = channelsOfVoxel[k];
      sums[first / voxelsOfChunk] += mean[v];
    }
  });
  double total = 0;
  for (const double sum : sums)
    total += sum;
  const Variances variances(total / static_cast<double>(count));
  forEachRange(context, count, voxelsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      const float variance = variances.clamped(mean[v]);
      for (std::size_t k = 0; k < channels; ++k)
        values[channels * v + k] = number(differences[k][v], variance);
    }
  });
}

TESSERA_INSTANTIATE_CLASS(SelfSimilarityDescriptor);

using namespace selfsimilarity;

template <int D>
Buffer<std::uint8_t> selfSimilaritiesOnCuda(Context& context, const float* voxels, const Size<D>& size,
                                            const Matrix<D>& steps)
{
  constexpr std::size_t channels = SelfSimilarityDescriptor<D>::channels;
  const std::size_t count = productOf(size);
  Buffer<std::uint8_t> numbers(context, channels * count);
  Buffer<float> differences(context, channels * count);
  if (onlyCountsMemory(context))
    return numbers;
  std::array<int, D> sizes;
  std::ranges::copy(size, sizes.begin());
  const auto pairs = neighbourPairs<D>(steps);
  const Vec<D> sigmaVoxels = sigmaOf<D>(steps);
  for (std::size_t k = 0; k < channels; ++k) {
    float* const differencesOfPair = differences.span().data() + k * count;
    squaredDifferences<D>(context, voxels, sizes, pairs[k], differencesOfPair);
    for (int d = 0; d < D; ++d)
      if (sigmaVoxels[d] > 0)
        filterLinesOnCuda(context, gaussianFilter(sigmaVoxels[d]), LineEnds::constant,
                          LinesOnCuda::along(size, d), differencesOfPair, differencesOfPair);
  }
  Buffer<double> scratch(context, meanScratch);
  Buffer<MeanVariance> mean(context, 1);
  context.stream->fill(mean.span().data(), 0, sizeof(MeanVariance));
  sumVariances<D>(context, differences.span().data(), count, scratch.span().data(), mean.span().data());
  writeNumbers<D>(context, differences.span().data(), count, mean.span().data(), numbers.span().data());
  return numbers;
}

TESSERA_INSTANTIATE_FUNCTIONS(selfSimilaritiesOnCuda<D>);

}
