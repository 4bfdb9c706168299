#include "Core/Image/Landmarks/SelfSimilarity.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Landmarks/Keypoints.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t channels = SelfSimilarity::channels;
constexpr double smallestOfMean = 0.001, largestOfMean = 1000;
constexpr std::size_t voxelsOfChunk = std::size_t(1) << 16;

struct Neighbours {
  Voxel a, b;
};

std::array<Neighbours, channels> neighboursAtSquareRootOfTwo()
{
  constexpr Voxel six[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  std::array<Neighbours, channels> pairs{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = i + 1; j < 6; ++j)
      if (i / 2 != j / 2) // not opposite
        pairs[count++] = {six[i], six[j]};
  return pairs;
}

std::vector<float> smoothedSquares(Context& context, const Image<3>& image, const Neighbours& pair)
{
  const Size<3>& size = image.geometry.size;
  Image<3> squares{image.geometry, std::vector<float>(image.voxels.size())};
  forEachChunk(context, size[2], [&](std::size_t z) {
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x) {
        const Voxel voxel{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
        const auto at = [&](const Voxel& step) {
          Voxel other;
          for (std::size_t d = 0; d < 3; ++d)
            other[d] = std::clamp(voxel[d] + step[d], 0, static_cast<int>(size[d]) - 1);
          return image.voxels[offsetOf(size, other)];
        };
        const float difference = at(pair.a) - at(pair.b);
        squares.voxels[offsetOf(size, voxel)] = difference * difference;
      }
  });
  return smoothRecursively<3>(context, squares, {1, 1, 1}).voxels;
}

}

SelfSimilarity::SelfSimilarity(Context& context, const Image<3>& image)
    : size(image.geometry.size), values(channels * image.voxels.size())
{
  std::array<std::vector<float>, channels> d;
  const auto pairs = neighboursAtSquareRootOfTwo();
  for (std::size_t k = 0; k < channels; ++k)
    d[k] = smoothedSquares(context, image, pairs[k]);

  const std::size_t count = image.voxels.size();
  std::vector<float> mean(count);
  std::vector<double> sums((count + voxelsOfChunk - 1) / voxelsOfChunk, 0.0);
  forEachRange(context, count, voxelsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      float least = d[0][v], sum = 0;
      for (const auto& channel : d)
        least = std::min(least, channel[v]);
      for (auto& channel : d)
        sum += channel[v] -= least;
      mean[v] = sum / channels;
      sums[first / voxelsOfChunk] += mean[v];
    }
  });
  double total = 0;
  for (const double sum : sums)
    total += sum;
  total = std::max(total / static_cast<double>(count), 1e-30); // a constant image
  const auto low = static_cast<float>(smallestOfMean * total),
             high = static_cast<float>(largestOfMean * total);
  forEachRange(context, count, voxelsOfChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      const float variance = std::clamp(mean[v], low, high);
      for (std::size_t k = 0; k < channels; ++k)
        values[channels * v + k] = static_cast<std::uint8_t>(255 * std::exp(-d[k][v] / variance) + 0.5f);
    }
  });
}

}
